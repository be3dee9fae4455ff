// The driver: JSON-RPC 2.0, one object a line, between the kit (stdin, stdout) and the relay with its store.

import * as read from "./encoding.mjs";
import { Relay, SettingRefused, settingsFrom } from "./relay.mjs";
import { del, put, Store, StoreError } from "./store.mjs";

const NAME = "node-relay";
const VERSION = "1.0.0";
const PROTOCOL_VERSION = 1;
const CAPABILITIES = ["clock", "settle", "restart", "settings", "store_fault", "crash_at_write"];
const BATCH_RECORDS = 256;
const BATCH_BYTES = 4 * 1024 * 1024;
const NEWLINE = 10;

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;
const API_ERROR = 1;

class Failure extends Error {
  constructor(code, message, data) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** What a thrown error is on the wire; null for a defect of this program. */
function failureFrom(error) {
  if (error instanceof Failure) return error;
  if (error instanceof read.InvalidParams) return new Failure(INVALID_PARAMS, error.message);
  if (error instanceof SettingRefused) {
    return new Failure(API_ERROR, error.message, { case: "settingRefused", setting: error.setting });
  }
  if (error instanceof StoreError) return new Failure(API_ERROR, error.message, { case: "storage" });
  return null;
}

/** Dies as from SIGKILL around the n-th transaction after it was armed. */
class CrashPoint {
  #left = 0;
  #when = null;
  #die;

  constructor(die) {
    this.#die = die;
  }

  get armed() {
    return this.#when !== null;
  }

  arm(write, when) {
    this.#left = write;
    this.#when = when;
  }

  disarm() {
    this.#when = null;
  }

  before() {
    if (!this.armed) return;
    this.#left -= 1;
    if (this.#left === 0 && this.#when === "before") this.#die();
  }

  after() {
    if (this.armed && this.#left === 0) this.#die();
  }
}

class Driver {
  #write;
  #crash;
  #initialized = false;
  #relay = null;
  #store = null;
  #sessions = 0; // never goes back: session names are unique within the process
  #pushes = []; // one per unanswered push, in order: {request, blob} or {request, refused}
  #pushedBytes = 0;
  #acks = new Map(); // blobs to delete, by id
  #owed = []; // deletions of expired blobs that the store could not take yet

  /** `write(message)` sends one object to the kit; `die()` kills the process after what was sent has left. */
  constructor({ write, die }) {
    this.#write = write;
    this.#crash = new CrashPoint(die);
  }

  /** Serve one line. Pushes and DeliverAcks may wait for `flush`; whatever else comes flushes first. */
  line(bytes) {
    let message;
    try {
      message = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    } catch {
      this.flush();
      this.#fail(null, new Failure(PARSE_ERROR, "The line is not JSON in UTF-8."));
      return;
    }
    this.#serve(message);
  }

  /** Make everything that waits durable in one transaction, then answer it. */
  flush() {
    this.#flushPushes();
    this.#flushAcks();
  }

  #serve(message) {
    const isObject = message !== null && typeof message === "object" && !Array.isArray(message);
    if (!isObject || message.jsonrpc !== "2.0" || typeof message.method !== "string") {
      this.flush();
      this.#fail(null, new Failure(INVALID_REQUEST, "The line is not a JSON-RPC 2.0 request."));
      return;
    }
    const request = Object.hasOwn(message, "id") ? message.id : undefined;
    try {
      this.#dispatch(message.method, message.params ?? {}, request);
    } catch (error) {
      this.flush();
      const failure = failureFrom(error);
      if (failure === null) console.error(error);
      this.#fail(request, failure ?? new Failure(INTERNAL_ERROR, `The driver failed: ${error.message}`));
    }
  }

  #dispatch(method, params, request) {
    if (!Object.hasOwn(METHODS, method)) throw new Failure(METHOD_NOT_FOUND, `There is no method ${method}.`);
    const { takes, needs, serve } = METHODS[method];
    if (needs !== "nothing" && !this.#initialized) throw new Failure(INVALID_REQUEST, "initialize comes first.");
    if (needs === "relay" && this.#relay === null) throw new Failure(INVALID_REQUEST, "No relay is open.");
    read.object(params, "params");
    const values = Object.entries(takes).map(([name, decode]) => decode(params[name], name));
    serve.call(this, request, ...values);
    if (this.#crash.armed) this.flush();
  }

  #answer(request, result) {
    if (request !== undefined) this.#write({ jsonrpc: "2.0", id: request, result });
  }

  #fail(request, { code, message, data }) {
    if (request === undefined) console.error(`A notification was ignored: ${message}`);
    else this.#write({ jsonrpc: "2.0", id: request, error: { code, message, ...(data && { data }) } });
  }

  #notify(method, params) {
    this.#write({ jsonrpc: "2.0", method, params });
  }

  #deliver(session, { id, envelope }) {
    this.#notify("deliver", { session, blob_id: id.toString(), envelope: envelope.toString("base64") });
  }

  // Life

  initialize(request, version, role) {
    if (this.#initialized) throw new Failure(INVALID_REQUEST, "initialize comes once.");
    if (version !== PROTOCOL_VERSION) throw new Failure(INVALID_PARAMS, "This driver speaks protocol version 1.");
    this.#initialized = true;
    const capabilities = CAPABILITIES;
    this.#answer(request, { name: NAME, version: VERSION, role, protocol_version: version, capabilities });
  }

  open(request, folder, now, given) {
    if (this.#relay !== null) throw new Failure(INVALID_REQUEST, "A relay is open already: close or reset it first.");
    const settings = settingsFrom(given);
    this.#crash.disarm();
    this.#store = new Store(folder, this.#crash);
    const { blobs, nextId } = this.#store;
    const newSession = () => `s${++this.#sessions}`;
    this.#relay = new Relay({ settings, blobs, nextId, now, newSession });
    this.#expire();
    this.#answer(request, {});
  }

  close(request) {
    this.flush();
    this.#stop();
    this.#answer(request, {});
  }

  reset(request) {
    this.flush();
    this.#crash.disarm();
    this.#stop();
    this.#answer(request, {});
  }

  #stop() {
    this.#store?.close();
    this.#store = null;
    this.#relay = null;
    this.#owed = [];
  }

  settle(request) {
    this.flush();
    this.#answer(request, { next_timer: this.#relay?.nextTimer() ?? null });
  }

  advance(request, now) {
    this.flush();
    this.#relay?.advance(now);
    if (this.#relay !== null) this.#expire();
    this.#answer(request, { next_timer: this.#relay?.nextTimer() ?? null });
  }

  /** An expired blob is gone whether or not its deletion can be written: its arrival time is in the log. */
  #expire() {
    const expired = this.#relay.due();
    for (const blob of expired) {
      this.#relay.forget(blob);
      this.#owed.push(del(blob.id));
    }
    if (expired.length > 0) this.#commit([]);
  }

  failStore(request, mode) {
    this.flush();
    this.#store.failing = mode === "failing";
    this.#answer(request, {});
  }

  armCrash(request, write, when) {
    if (write < 1) throw new Failure(INVALID_PARAMS, "The parameter write counts from 1.");
    this.flush();
    this.#crash.arm(write, when);
    this.#answer(request, {});
  }

  // Sessions

  openReceiveSession(request, device) {
    this.flush();
    const { session, blobs, ended } = this.#relay.openReceiveSession(device);
    for (const old of ended) this.#notify("session.closed", { session: old });
    this.#answer(request, { session });
    for (const blob of blobs) this.#deliver(session, blob);
  }

  closeReceiveSession(request, session) {
    this.flush();
    this.#relay.closeReceiveSession(session);
    this.#answer(request, {});
  }

  openPushSession(request) {
    this.flush();
    this.#answer(request, { session: this.#relay.openPushSession() });
  }

  closePushSession(request, session) {
    this.flush();
    this.#relay.closePushSession(session);
    this.#answer(request, {});
  }

  // Blobs

  push(request, session, body) {
    if (!this.#relay.hasPushSession(session)) throw new Failure(INVALID_PARAMS, "No such push session is open.");
    this.#flushAcks();
    this.#pushes.push({ request, ...this.#relay.admit(body) });
    this.#pushedBytes += body.length;
    if (this.#pushes.length >= BATCH_RECORDS || this.#pushedBytes >= BATCH_BYTES) this.#flushPushes();
  }

  deliverAck(_request, session, id) {
    this.#flushPushes();
    const blob = this.#relay.acked(session, id);
    if (blob !== null) this.#acks.set(id, blob);
    if (this.#acks.size >= BATCH_RECORDS) this.#flushAcks();
  }

  #flushPushes() {
    const pushes = this.#pushes;
    if (pushes.length === 0) return;
    this.#pushes = [];
    this.#pushedBytes = 0;
    const records = pushes.filter(({ blob }) => blob).map(({ blob }) => put(blob));
    const durable = records.length === 0 || this.#commit(records);
    for (const { request, blob, refused } of pushes) {
      if (refused) this.#answer(request, { outcome: "refused", code: refused });
      else if (durable) this.#accept(request, blob);
      else this.#giveUp(request, blob);
    }
  }

  #accept(request, blob) {
    this.#answer(request, { outcome: "ack" });
    for (const session of this.#relay.stored(blob)) this.#deliver(session, blob);
  }

  #giveUp(request, blob) {
    this.#relay.abandoned(blob);
    this.#answer(request, { outcome: "refused", code: "unavailable" });
  }

  /** A deletion that cannot be written does not happen: the blob comes again on the next Receive Session. */
  #flushAcks() {
    const blobs = [...this.#acks.values()];
    if (blobs.length === 0) return;
    this.#acks.clear();
    if (this.#commit(blobs.map(({ id }) => del(id)))) blobs.forEach((blob) => this.#relay.forget(blob));
  }

  /** -> whether the records, and the deletions owed from before, are durable now. */
  #commit(records) {
    try {
      this.#store.commit([...this.#owed, ...records]);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      console.error(error.message);
      return false;
    }
    this.#owed = [];
    return true;
  }
}

const { prototype: driver } = Driver;

/** method -> what it takes (in this order), what has to be there before, and who serves it. */
const METHODS = {
  initialize: {
    takes: { protocol_version: read.count, role: read.oneOf(["relay"]) },
    needs: "nothing",
    serve: driver.initialize,
  },
  open: {
    takes: { data_folder: read.text, now: read.count, settings: read.object },
    needs: "initialize",
    serve: driver.open,
  },
  close: { takes: {}, needs: "initialize", serve: driver.close },
  reset: { takes: {}, needs: "initialize", serve: driver.reset },
  settle: { takes: {}, needs: "initialize", serve: driver.settle },
  "clock.advance": { takes: { now: read.count }, needs: "initialize", serve: driver.advance },
  "store.fail": { takes: { mode: read.oneOf(["failing", "working"]) }, needs: "relay", serve: driver.failStore },
  "crash.at_write": {
    takes: { write: read.count, when: read.oneOf(["before", "after"]) },
    needs: "relay",
    serve: driver.armCrash,
  },
  "receive_session.open": { takes: { device: read.key }, needs: "relay", serve: driver.openReceiveSession },
  "receive_session.close": { takes: { session: read.text }, needs: "relay", serve: driver.closeReceiveSession },
  "push_session.open": { takes: {}, needs: "relay", serve: driver.openPushSession },
  "push_session.close": { takes: { session: read.text }, needs: "relay", serve: driver.closePushSession },
  push: { takes: { session: read.text, body: read.bytes }, needs: "relay", serve: driver.push },
  deliver_ack: { takes: { session: read.text, blob_id: read.u64 }, needs: "relay", serve: driver.deliverAck },
};

/** Cuts a byte stream into lines; what has no newline yet waits for the next chunk. */
class Lines {
  #parts = [];

  *feed(chunk) {
    let start = 0;
    for (let end; (end = chunk.indexOf(NEWLINE, start)) !== -1; start = end + 1) {
      this.#parts.push(chunk.subarray(start, end));
      yield this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts);
      this.#parts = [];
    }
    if (start < chunk.length) this.#parts.push(chunk.subarray(start));
  }
}

function main() {
  process.umask(0o077);
  const lines = new Lines();
  let output = [];
  const send = () => {
    if (output.length > 0) process.stdout.write(output.join(""));
    output = [];
  };
  const die = () => {
    process.kill(process.pid, "SIGKILL");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); // until the signal has arrived
  };
  const driver = new Driver({ write: (message) => output.push(`${JSON.stringify(message)}\n`), die });
  process.stdout.on("error", () => process.exit(1)); // the kit is gone
  process.stdin.on("data", (chunk) => {
    for (const line of lines.feed(chunk)) {
      driver.line(line);
      send();
    }
    driver.flush();
    send();
  });
  process.stdin.on("end", () => process.stdout.write("", () => process.exit(0)));
}

main();
