// The recipient's half: one Blob at a time through the checks, the handler, the dedup record and the ack, in that order.
// A Receive Session is opened as soon as the relay is in reach; what it delivers waits here until there is a handler.

import { messageId, signatureVerifies, TAG, unseal } from "./plain_envelope.mjs";
import { DEDUP_RETENTION } from "./session_state.mjs";

export const REPLAY_WINDOW = 60 * 86_400_000;

const HELD_BLOBS = 100;
const HANDLER_ATTEMPTS = 5;
const HANDLER_PAUSE = 300;
const SESSION_PAUSE = 2_000;
const SESSION_PAUSE_MAX = 120_000;
const KNOWN_TAGS = new Set(Object.values(TAG));

const unreadable = (reason) => ({ drop: { case: "unreadable", reason } });
export const UNAUTHORIZED = Object.freeze({ drop: { case: "unauthorized" } });
export const MALFORMED = Object.freeze(unreadable("malformed"));
export const DONE = Object.freeze({ drop: null }); // acked without a word

export class Recipient {
  #core;
  #membership;
  #session = null;
  #opening = null;
  #openFailures = 0;
  #openAt = null;
  #waiting = [];
  #held = new Set(); // blob ids of this session, oldest first
  #reported = new Set(); // blob ids whose hold was reported by this process
  #handler = null;
  #job = null;
  onUnsupported = () => {};

  constructor(core, membership) {
    this.#core = core;
    this.#membership = membership;
  }

  get hasHandler() {
    return this.#handler !== null;
  }

  get handlerRuns() {
    return this.#job?.running ?? false;
  }

  setHandler(handle) {
    this.#handler = handle;
    this.run();
  }

  cancelHandler(handle) {
    if (this.#handler === handle) this.#handler = null;
  }

  openSession() {
    if (!this.#core.reachable || this.#session !== null || this.#opening !== null) return;
    const opening = {};
    this.#opening = opening;
    this.#openAt = null;
    this.#core.ports.openReceiveSession(this.#core.state.identity.noise_pub, (answer) => {
      if (this.#opening !== opening) return;
      this.#opening = null;
      this.#opened(answer);
    });
  }

  /** The connection is gone, or the identity: so is the session. A handler that runs goes on running. */
  endSession() {
    this.#session = null;
    this.#opening = null;
    this.#openAt = null;
    this.#openFailures = 0;
    this.#waiting = [];
    this.#held.clear();
  }

  /** The device has a new identity: nothing of the old one is handled or recorded any more. */
  forget() {
    this.endSession();
    if (this.#job?.running) this.#job.obsolete = true;
    else this.#job = null;
  }

  deliver(session, blobId, envelope) {
    if (session !== this.#session) return;
    this.#waiting.push({ session, blobId, envelope });
    this.run();
  }

  run() {
    this.#retryJob();
    while (this.#handler !== null && this.#job === null && this.#waiting.length > 0) {
      this.#take(this.#waiting.shift());
    }
  }

  tick() {
    if (this.#openAt !== null && this.#openAt <= this.#core.now) this.openSession();
    this.run();
  }

  nextTimer() {
    const retry = this.#jobWaits() ? this.#job.retryAt : null;
    return [this.#openAt, retry].filter((time) => time !== null);
  }

  #opened(answer) {
    if (answer.outcome === "unsupported") {
      this.onUnsupported(answer);
    } else if (answer.outcome === "lost") {
      const pause = Math.min(SESSION_PAUSE_MAX, SESSION_PAUSE * 2 ** this.#openFailures);
      this.#openFailures += 1;
      this.#openAt = this.#core.now + pause;
    } else {
      this.#openFailures = 0;
      this.#session = answer.session;
    }
  }

  /** What a device on its way out of the group would have handled stays in the inbox that it leaves behind. */
  #take(blob) {
    const verdict = this.#judge(blob.envelope);
    if (verdict.hold !== undefined) this.#hold(blob, verdict.hold);
    else if (verdict.message && this.#membership.handles) this.#begin(blob, verdict);
    else if (!verdict.message) this.#drop(blob, verdict);
  }

  #judge(envelope) {
    const version = envelope.end_to_end_version;
    if (version > this.#core.version) return { hold: version };
    if (version === 0) return MALFORMED;
    if (version < this.#core.version) return unreadable("senderOutdated");
    const sealed = unseal(envelope, this.#core.state.identity.noise_pub);
    if (sealed === null || !KNOWN_TAGS.has(sealed.tag) || !signatureVerifies(envelope)) return MALFORMED;
    if (this.#core.now - sealed.sender_timestamp > REPLAY_WINDOW) return unreadable("expired");
    return sealed.tag === TAG.sync ? this.#judgeSync(sealed) : this.#membership.take(sealed);
  }

  #judgeSync(sealed) {
    const from = this.#membership.otherMember(sealed.author_pub);
    if (from === null) return UNAUTHORIZED;
    const id = messageId(sealed.author_pub, sealed.sequence);
    const keptUntil = this.#core.state.handled.get(id);
    if (keptUntil !== undefined && keptUntil >= this.#core.now) return DONE;
    return { message: { id, from, body: sealed.body }, stamp: sealed.sender_timestamp };
  }

  #hold({ session, blobId }, version) {
    this.#held.delete(blobId);
    this.#held.add(blobId);
    if (!this.#reported.has(blobId)) {
      this.#reported.add(blobId);
      this.#core.issue({ case: "heldForUpgrade", version });
    }
    if (this.#held.size <= HELD_BLOBS) return;
    const [oldest] = this.#held;
    this.#held.delete(oldest);
    this.#drop({ session, blobId: oldest }, unreadable("droppedWhileHeld"));
  }

  #drop({ session, blobId }, { drop, then }) {
    this.#core.ports.deliverAck(session, blobId);
    if (drop) this.#core.issue(drop);
    then?.();
  }

  #begin(blob, { message, stamp }) {
    this.#job = { blob, message, stamp, attempts: 0, retryAt: null, running: false, obsolete: false };
    this.#call(this.#job);
  }

  #call(job) {
    job.attempts += 1;
    job.running = true;
    job.retryAt = null;
    this.#core.ports.callHandler(job.message, (answer) => this.#ended(job, answer));
  }

  #ended(job, answer) {
    job.running = false;
    if (job.obsolete) this.#job = null;
    else if (answer.outcome === "returned") this.#finish(job);
    else if (job.attempts < HANDLER_ATTEMPTS) job.retryAt = this.#core.now + HANDLER_PAUSE * 3 ** (job.attempts - 1);
    else this.#finish(job, { case: "handlerGaveUp", message_id: job.message.id, error: answer.error });
    if (!this.#core.closed) this.run();
  }

  #retryJob() {
    if (this.#jobWaits() && this.#job.retryAt <= this.#core.now) this.#call(this.#job);
  }

  #jobWaits() {
    return this.#job !== null && !this.#job.running && this.#handler !== null && this.#membership.handles;
  }

  /** A message that was given up is recorded as well: delivered again, it gets no second set of attempts. */
  #finish(job, issue) {
    const until = Math.max(this.#core.now, job.stamp) + DEDUP_RETENTION;
    this.#core.commit({ op: "handled", id: job.message.id, until });
    this.#job = null;
    // On a session that is gone nothing can be acked; the copy on the next one is found to be a duplicate.
    if (job.blob.session === this.#session) this.#core.ports.deliverAck(job.blob.session, job.blob.blobId);
    if (issue) this.#core.issue(issue);
  }
}
