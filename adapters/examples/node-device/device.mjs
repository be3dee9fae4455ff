// The device as an app sees it: the API, the connection, and the clock. It does no input or output by itself: `ports`
// carries what leaves it, and whoever owns it calls in. Every call is over when it returns.

import { ApiError, Membership } from "./membership.mjs";
import { Outbox } from "./outbox.mjs";
import { Recipient } from "./recipient.mjs";
import { apply, emptyState, newIdentity, skipToNewBlock, snapshot } from "./session_state.mjs";
import { Store, StoreError } from "./store.mjs";

export const MAX_PAYLOAD_BYTES = 61_440;

const COMPACT_AT_START = 1 << 20;
const COMPACT_WHILE_RUNNING = 32 << 20;

/** What the parts share: state and its log, the clock, the ports, and whether the relay is in reach. */
class Core {
  reachable = false;
  closed = false;
  #store;
  #listeners = { event: new Set(), issue: new Set() };
  #earlyEvents = [];

  constructor({ store, state, ports, now, version }) {
    Object.assign(this, { state, ports, now, version });
    this.#store = store;
  }

  /** Makes `record` durable, then true. */
  commit(record) {
    this.#store.append(record);
    apply(this.state, record);
    if (this.#store.size > COMPACT_WHILE_RUNNING) this.#store.compact([snapshot(this.state, this.now)]);
  }

  event(event) {
    if (this.#listeners.event.size > 0) this.ports.event(event);
    else this.#earlyEvents.push(event);
  }

  /** An issue is for who listens now: it is about one Blob or entry, and there is no later use for it. */
  issue(issue) {
    if (this.#listeners.issue.size > 0) this.ports.issue(issue);
  }

  listen(to, handle) {
    this.#listeners[to].add(handle);
    if (to === "event") this.#earlyEvents.splice(0).forEach((event) => this.ports.event(event));
  }

  unlisten(handle) {
    Object.values(this.#listeners).forEach((listeners) => listeners.delete(handle));
  }
}

export class Device {
  #core;
  #store;
  #outbox;
  #recipient;
  #membership;
  #connection = { state: "connecting" };
  #maxPayloadBytes;
  #handles = 0;

  /** settings: data_folder, now, end_to_end_version, max_payload_bytes (or null), provision (or null). */
  constructor(settings, ports) {
    this.#store = new Store(settings.data_folder);
    this.#maxPayloadBytes = Math.min(settings.max_payload_bytes ?? MAX_PAYLOAD_BYTES, MAX_PAYLOAD_BYTES);
    this.#core = new Core({
      store: this.#store, state: this.#load(settings), ports, now: settings.now, version: settings.end_to_end_version,
    });
    this.#outbox = new Outbox(this.#core);
    this.#membership = new Membership(this.#core, this.#outbox);
    this.#recipient = new Recipient(this.#core, this.#membership);
    this.#connect();
    this.#membership.rebuildQueued();
    // The last answer may have been recorded, and the process killed before the wipe that follows from it.
    this.#membership.finishFarewell();
  }

  // -- the API ----------------------------------------------------------------------------------------------

  onMessage() {
    this.#demandOpen();
    if (this.#recipient.hasHandler) throw new ApiError("messageHandlerAlreadySet");
    const handle = this.#handle("message");
    this.#recipient.setHandler(handle);
    return handle;
  }

  onEvent() {
    return this.#listen("event");
  }

  onDeliveryIssue() {
    return this.#listen("issue");
  }

  cancel(handle) {
    this.#demandOpen();
    this.#recipient.cancelHandler(handle);
    this.#core.unlisten(handle);
  }

  /** Queues `body` (Buffer) for every other member and returns the Message ID. */
  send(body) {
    this.#demandOpen();
    this.#membership.demandMember();
    if (body.length > this.#maxPayloadBytes) throw new ApiError("payloadTooLarge", { max: this.#maxPayloadBytes });
    const message = this.#outbox.compose("sync", body.toString("base64"), this.#membership.recipients());
    this.#core.commit({ op: "queued", message });
    this.#outbox.pump();
    return this.#outbox.idOf(message.sequence);
  }

  status() {
    this.#demandOpen();
    return {
      status: this.#membership.status,
      me: this.#membership.me,
      members: this.#membership.members(),
      connection: this.#connection,
    };
  }

  close() {
    this.#demandOpen();
    this.#core.closed = true;
    this.#core.reachable = false;
    this.#recipient.endSession();
    if (!this.#recipient.handlerRuns) this.#store.close();
  }

  startPairing() {
    return this.#member("startPairing");
  }

  accept(request) {
    return this.#member("accept", request);
  }

  cancelPairing() {
    return this.#member("cancelPairing");
  }

  join(token) {
    return this.#member("join", token);
  }

  cancelJoin() {
    return this.#member("cancelJoin");
  }

  remove(member) {
    return this.#member("remove", member);
  }

  leave() {
    return this.#member("leave");
  }

  destroyGroup() {
    return this.#member("destroyGroup");
  }

  // -- the relay and the clock ------------------------------------------------------------------------------

  relayConnected() {
    if (this.#core.closed) return;
    this.#core.reachable = true;
    this.#changeConnection({ state: "connected" });
    this.#outbox.retryNow();
    this.#recipient.openSession();
  }

  relayDisconnected() {
    if (this.#core.closed) return;
    this.#core.reachable = false;
    this.#recipient.endSession();
    this.#changeConnection({ state: "disconnected" });
  }

  deliver(session, blobId, envelope) {
    if (!this.#core.closed) this.#recipient.deliver(session, blobId, envelope);
  }

  advance(now) {
    this.#core.now = Math.max(now, this.#core.now);
    return this.settle();
  }

  /** Does what is due and returns the time of what waits next, or null. */
  settle() {
    if (this.#core.closed) return null;
    this.#outbox.pump();
    this.#recipient.tick();
    const times = [...this.#outbox.nextTimer(), ...this.#recipient.nextTimer()];
    return times.length > 0 ? times.reduce((a, b) => Math.min(a, b)) : null;
  }

  crashAt(write, when) {
    this.#store.crashAt(write, when);
  }

  /** Lets go of the folder, whatever still runs. */
  abandon() {
    this.#core.closed = true;
    this.#core.reachable = false;
    this.#store.close();
  }

  // ---------------------------------------------------------------------------------------------------------

  #load({ now, provision }) {
    const state = emptyState();
    this.#store.open().forEach((record) => apply(state, record));
    if (state.identity === null) {
      const { identity, manifest } = provision ?? { identity: newIdentity("device"), manifest: null };
      const record = { op: "provisioned", identity, manifest };
      this.#store.append(record);
      apply(state, record);
    } else if (this.#store.size > COMPACT_AT_START) {
      this.#store.compact([snapshot(state, now)]);
    }
    skipToNewBlock(state);
    return state;
  }

  #connect() {
    this.#outbox.onFinished = () => this.#membership.finishFarewell();
    this.#outbox.onUnsupported = (answer) => this.#unsupported(answer);
    this.#recipient.onUnsupported = (answer) => this.#unsupported(answer);
    this.#membership.onWiped = () => {
      this.#outbox.forget();
      this.#recipient.forget();
      this.#recipient.openSession();
    };
  }

  /** Nothing tries again until the relay is reached anew: another attempt on this connection has the same answer. */
  #unsupported({ min, max }) {
    this.#core.reachable = false;
    this.#recipient.endSession();
    this.#changeConnection({ state: "relayVersionUnsupported", min, max });
  }

  #changeConnection(connection) {
    if (JSON.stringify(connection) === JSON.stringify(this.#connection)) return;
    this.#connection = connection;
    this.#core.event({ case: "connectionChanged", connection });
  }

  #demandOpen() {
    if (this.#core.closed) throw new ApiError("closed");
  }

  #member(call, ...args) {
    this.#demandOpen();
    return this.#membership[call](...args);
  }

  #listen(to) {
    this.#demandOpen();
    const handle = this.#handle(to);
    this.#core.listen(to, handle);
    return handle;
  }

  #handle(kind) {
    this.#handles += 1;
    return `${kind}/${this.#handles}`;
  }
}

export { ApiError, StoreError };
