// The sender's half: one lane for each recipient, one push at a time on it, the head of the line first.

import { messageId, seal, TAG } from "./plain_envelope.mjs";

export const OUTBOX_EXPIRY = 30 * 86_400_000;

const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 300_000;
const GROWTH = 3;
const JITTER = 0.1;
const TAG_OF_KIND = {
  sync: TAG.sync, pair: TAG.pair, manifest: TAG.groupManifest, leave: TAG.groupManifest, revoke: TAG.revoke,
};
const PERMANENT = { too_large: "tooLarge", malformed: "malformed" };

export class Outbox {
  #core;
  #lanes = new Map(); // Noise key -> {busy, failures, retryAt}
  onFinished = () => {};
  onUnsupported = () => {};

  constructor(core) {
    this.#core = core;
  }

  /** A message in the form in which records carry it; takes the next Sequence once its record is durable. */
  compose(kind, body, to) {
    return { sequence: String(this.#core.state.nextSequence), kind, at: this.#core.now, body, to };
  }

  idOf(sequence) {
    return messageId(this.#core.state.identity.signing_pub, sequence);
  }

  /** The connection came back: what waits for a retry goes at once. How long the next pause is only a success changes. */
  retryNow() {
    for (const lane of this.#lanes.values()) lane.retryAt = null;
    this.pump();
  }

  /** The device has a new identity; answers to what the old one pushed mean nothing any more. */
  forget() {
    this.#lanes = new Map();
  }

  /** Pushes whatever may go. What is past its time goes first: it must not be pushed any more. */
  pump() {
    this.#expire();
    if (!this.#core.reachable) return;
    for (const [recipient, entry] of this.#heads()) {
      const lane = this.#lane(recipient);
      if (!lane.busy && (lane.retryAt ?? 0) <= this.#core.now) this.#push(recipient, lane, entry);
    }
  }

  nextTimer() {
    const times = [...this.#core.state.outbox.values()].filter(isSync).map((entry) => entry.at + OUTBOX_EXPIRY);
    if (!this.#core.reachable) return times;
    const heads = this.#heads();
    const waits = [...this.#lanes].filter(([recipient, lane]) => heads.has(recipient) && !lane.busy && lane.retryAt);
    return [...times, ...waits.map(([, lane]) => lane.retryAt)];
  }

  #heads() {
    const heads = new Map();
    for (const entry of this.#core.state.outbox.values()) {
      for (const recipient of entry.to) if (!heads.has(recipient)) heads.set(recipient, entry);
    }
    return heads;
  }

  #lane(recipient) {
    if (!this.#lanes.has(recipient)) this.#lanes.set(recipient, { busy: false, failures: 0, retryAt: null });
    return this.#lanes.get(recipient);
  }

  #push(recipient, lane, entry) {
    const core = this.#core;
    lane.busy = true;
    lane.retryAt = null;
    const content = {
      author_pub: core.state.identity.signing_pub,
      sequence: String(entry.sequence),
      sender_timestamp: isSync(entry) ? entry.at : core.now,
      tag: TAG_OF_KIND[entry.kind],
      body: entry.body,
    };
    const lanes = this.#lanes;
    core.ports.push(recipient, seal(content, core.version, recipient), (answer) => {
      if (lanes === this.#lanes && !core.closed) this.#answered(recipient, lane, entry.sequence, answer);
    });
  }

  #answered(recipient, lane, sequence, answer) {
    lane.busy = false;
    if (answer.outcome === "ack") this.#delivered(recipient, lane, sequence);
    else if (answer.outcome === "unsupported") this.onUnsupported(answer);
    else if (answer.code in PERMANENT) this.#failed(recipient, lane, sequence, PERMANENT[answer.code]);
    else this.#postpone(lane);
    this.onFinished();
    this.pump();
  }

  #delivered(recipient, lane, sequence) {
    lane.failures = 0;
    if (this.#holds(sequence, recipient)) this.#finish(sequence, [recipient]);
  }

  #failed(recipient, lane, sequence, reason) {
    if (!this.#holds(sequence, recipient)) return;
    // The issue leaves first: a crash in between reports it twice rather than never.
    this.#core.issue({ case: "sendFailed", message_id: this.idOf(sequence), reason });
    this.#finish(sequence, [recipient]);
  }

  #postpone(lane) {
    lane.failures += 1;
    lane.retryAt = this.#core.now + pause(lane.failures);
  }

  #expire() {
    const due = [...this.#core.state.outbox.values()].filter(
      (entry) => isSync(entry) && entry.at + OUTBOX_EXPIRY <= this.#core.now,
    );
    for (const { sequence, to } of due) {
      this.#core.issue({ case: "sendFailed", message_id: this.idOf(sequence), reason: "expired" });
      this.#finish(sequence, [...to]);
    }
  }

  #holds(sequence, recipient) {
    return this.#core.state.outbox.get(sequence)?.to.has(recipient) ?? false;
  }

  #finish(sequence, to) {
    this.#core.commit({ op: "finished", sequence: String(sequence), to });
  }
}

/** Milliseconds to wait after the failures-th refusal in a row: never under a second, never over five minutes. */
export function pause(failures, random = Math.random) {
  const full = Math.min(LONGEST_PAUSE, FIRST_PAUSE * GROWTH ** (failures - 1));
  return Math.max(FIRST_PAUSE, Math.round(full * (1 - JITTER * random())));
}

function isSync(entry) {
  return entry.kind === "sync";
}
