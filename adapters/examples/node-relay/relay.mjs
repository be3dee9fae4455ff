// The relay's state machine: inboxes, sessions, quotas, TTL. It does no input or output and reads no clock.
//
// A Blob is {id: BigInt, device: hex key, arrival: ms, envelope: Buffer}. What has to be durable happens in two steps:
// the relay decides (`admit`, `acked`, `due`), its caller writes, and then tells the relay how that went (`stored` or
// `abandoned`, `forget`). A blob becomes visible to a Receive Session only with `stored`.

import { U64_MAX } from "./encoding.mjs";

const DAY = 24 * 60 * 60 * 1000;
const KEY_BYTES = 32;
const MILLI = 1000; // one push is 1000 thousandths of a token: whole numbers, so refills never drift
const RECEIVE_SESSIONS_PER_DEVICE = 4;
export const TTL_CEILING = 30 * DAY;

const positive = (value) => Number.isSafeInteger(value) && value > 0;

/** name -> [default, is this value one the relay starts with]. */
const SETTINGS = {
  ttl: [TTL_CEILING, (value) => positive(value) && value <= TTL_CEILING],
  max_blobs_per_inbox: [10_000, positive],
  max_bytes_per_inbox: [268_435_456, positive],
  max_envelope_bytes: [65_482, positive],
  push_rate_per_second: [20, positive],
  push_burst: [500, positive],
};

/** The relay will not start with this setting. */
export class SettingRefused extends Error {
  constructor(setting) {
    super(`The relay does not start with this value of the setting ${setting}.`);
    this.setting = setting;
  }
}

/** Fill in the defaults; throw SettingRefused for an unknown name or a value out of range. */
export function settingsFrom(given) {
  const settings = Object.fromEntries(Object.entries(SETTINGS).map(([name, [standard]]) => [name, standard]));
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(SETTINGS, name) || !SETTINGS[name][1](value)) throw new SettingRefused(name);
    settings[name] = value;
  }
  return settings;
}

export class Relay {
  #settings;
  #now;
  #nextId;
  #newSession;
  #blobs = new Map(); // every stored blob by id, in arrival order: the first one is the next to expire
  #inboxes = new Map(); // device -> {blobs: Map, count, bytes}; count and bytes include admitted blobs not stored yet
  #buckets = new Map(); // recipient -> {level, at}; one that is full again is dropped
  #receiveSessions = new Map(); // session -> device, oldest first
  #pushSessions = new Set();

  /** `blobs` in arrival order; `nextId` above every id ever given out; `newSession()` returns a fresh name. */
  constructor({ settings, blobs, nextId, now, newSession }) {
    this.#settings = settings;
    this.#nextId = nextId;
    this.#now = now;
    this.#newSession = newSession;
    for (const blob of blobs) {
      this.#reserve(blob);
      this.#keep(blob);
      // Arrival times never decrease, even if the clock was set back between two runs: `due` relies on it.
      this.#now = Math.max(this.#now, blob.arrival);
    }
  }

  advance(now) {
    this.#now = Math.max(this.#now, now);
    for (const [device, bucket] of this.#buckets) {
      if (this.#refilled(bucket) >= this.#settings.push_burst * MILLI) this.#buckets.delete(device);
    }
  }

  /** Time of the earliest expiry, or null. */
  nextTimer() {
    const [first] = this.#blobs.values();
    return first === undefined ? null : first.arrival + this.#settings.ttl;
  }

  /** The blobs whose TTL has run out (RLY-014). They stay until `forget`. */
  due() {
    const expired = [];
    for (const blob of this.#blobs.values()) {
      if (blob.arrival + this.#settings.ttl > this.#now) break;
      expired.push(blob);
    }
    return expired;
  }

  // Sessions

  /** -> {session, blobs: to deliver on it in this order, ended: sessions that made room}. */
  openReceiveSession(device) {
    const ended = [];
    const open = this.#sessionsOf(device);
    while (open.length >= RECEIVE_SESSIONS_PER_DEVICE) ended.push(open.shift());
    for (const session of ended) this.#receiveSessions.delete(session);
    const session = this.#newSession();
    this.#receiveSessions.set(session, device);
    return { session, blobs: [...(this.#inboxes.get(device)?.blobs.values() ?? [])], ended };
  }

  openPushSession() {
    const session = this.#newSession();
    this.#pushSessions.add(session);
    return session;
  }

  closeReceiveSession(session) {
    this.#receiveSessions.delete(session);
  }

  closePushSession(session) {
    this.#pushSessions.delete(session);
  }

  hasPushSession(session) {
    return this.#pushSessions.has(session);
  }

  // Pushing

  /** Judge the body of a Push frame -> {refused: code} or {blob}, which takes its room and its token at once. */
  admit(body) {
    if (body.length < KEY_BYTES) return { refused: "malformed" };
    const envelope = body.subarray(KEY_BYTES);
    if (envelope.length > this.#settings.max_envelope_bytes) return { refused: "too_large" };
    const device = body.toString("hex", 0, KEY_BYTES);
    const level = this.#level(device);
    if (level < MILLI) return { refused: "rate_limited" };
    if (this.#isFull(device, envelope.length)) return { refused: "inbox_full" };
    if (this.#nextId > U64_MAX) return { refused: "internal_error" };
    const blob = { id: this.#nextId++, device, arrival: this.#now, envelope };
    this.#buckets.set(device, { level: level - MILLI, at: this.#now });
    this.#reserve(blob);
    return { blob };
  }

  /** The admitted blob is durable -> the sessions to deliver it on. */
  stored(blob) {
    this.#keep(blob);
    return this.#sessionsOf(blob.device);
  }

  /** The admitted blob could not be written: give back its room and its token. Its id stays used. */
  abandoned(blob) {
    this.#release(blob);
    const bucket = this.#buckets.get(blob.device);
    if (bucket !== undefined) bucket.level += MILLI;
  }

  // Deleting

  /** The blob that this DeliverAck deletes; null for a session gone, an unknown id, another device's (RLY-007). */
  acked(session, id) {
    const device = this.#receiveSessions.get(session);
    const blob = this.#blobs.get(id);
    return device !== undefined && blob?.device === device ? blob : null;
  }

  forget(blob) {
    if (!this.#blobs.delete(blob.id)) return;
    this.#inboxes.get(blob.device).blobs.delete(blob.id);
    this.#release(blob);
  }

  #sessionsOf(device) {
    return [...this.#receiveSessions].filter(([, owner]) => owner === device).map(([session]) => session);
  }

  #isFull(device, size) {
    const { count, bytes } = this.#inboxes.get(device) ?? { count: 0, bytes: 0 };
    return count + 1 > this.#settings.max_blobs_per_inbox || bytes + size > this.#settings.max_bytes_per_inbox;
  }

  #reserve({ device, envelope }) {
    let inbox = this.#inboxes.get(device);
    if (inbox === undefined) this.#inboxes.set(device, (inbox = { blobs: new Map(), count: 0, bytes: 0 }));
    inbox.count += 1;
    inbox.bytes += envelope.length;
  }

  #keep(blob) {
    this.#blobs.set(blob.id, blob);
    this.#inboxes.get(blob.device).blobs.set(blob.id, blob);
  }

  #release({ device, envelope }) {
    const inbox = this.#inboxes.get(device);
    inbox.count -= 1;
    inbox.bytes -= envelope.length;
    if (inbox.count === 0) this.#inboxes.delete(device);
  }

  #level(device) {
    const bucket = this.#buckets.get(device);
    return bucket === undefined ? this.#settings.push_burst * MILLI : this.#refilled(bucket);
  }

  #refilled({ level, at }) {
    // ms * tokens per second = thousandths of a token
    const gained = (this.#now - at) * this.#settings.push_rate_per_second;
    return Math.min(this.#settings.push_burst * MILLI, level + gained);
  }
}
