// The driver: JSON-RPC lines on stdin and stdout, the device between them.

import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { ApiError, Device, StoreError } from "./device.mjs";
import { isBase64, isObject } from "./plain_envelope.mjs";

const CAPABILITIES = ["clock", "settle", "restart", "provision", "upgrade", "pairing", "crash_at_write"];

class ProtocolError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

let device = null;
let lastId = 0;
let unanswered = new Map(); // id of our request -> what to do with its result

function say(message) {
  const bytes = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
  // Synchronous: what was said before a crash point must have left.
  for (let done = 0; done < bytes.length;) {
    try {
      done += writeSync(1, bytes, done);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}

function request(method, params, onResult) {
  lastId += 1;
  unanswered.set(lastId, onResult);
  say({ id: lastId, method, params });
}

/** What leaves the device, for a device that was opened with `transportVersion`. */
function ports(transportVersion) {
  return {
    push: (recipient, envelope, onAnswer) =>
      request("relay.push", { recipient, envelope, transport_version: transportVersion }, onAnswer),
    openReceiveSession: (key, onAnswer) =>
      request("relay.open_receive_session", { device: key, transport_version: transportVersion }, onAnswer),
    deliverAck: (session, blobId) => say({ method: "relay.deliver_ack", params: { session, blob_id: blobId } }),
    callHandler: (message, onEnd) => request("handler.call", { message }, onEnd),
    issue: (issue) => say({ method: "issue", params: issue }),
    event: (event) => say({ method: "event", params: event }),
  };
}

function text(value, name) {
  if (typeof value !== "string") throw new ProtocolError(-32602, `${name} must be text.`);
  return value;
}

function bytes(value, name) {
  if (!isBase64(value)) throw new ProtocolError(-32602, `${name} must be base64.`);
  return Buffer.from(value, "base64");
}

/** A device that was closed and still waits for its handler keeps its store until there is a next one. */
function letGo() {
  device?.abandon();
  device = null;
  unanswered = new Map();
}

const METHODS = {
  initialize: ({ role }) => {
    if (role !== "device") throw new ProtocolError(-32602, "This driver has the role device only.");
    return { name: "node-device", version: "0.1.0", role, protocol_version: 1, capabilities: CAPABILITIES };
  },
  open: (params) => {
    letGo();
    device = new Device(params, ports(params.transport_version));
    return {};
  },
  reset: () => done(letGo()),
  settle: () => ({ next_timer: device.settle() }),
  "clock.advance": ({ now }) => ({ next_timer: device.advance(now) }),
  "crash.at_write": ({ write, when }) => done(device.crashAt(write, when)),
  on_message: () => ({ handle: device.onMessage() }),
  on_event: () => ({ handle: device.onEvent() }),
  on_delivery_issue: () => ({ handle: device.onDeliveryIssue() }),
  cancel: ({ handle }) => done(device.cancel(text(handle, "handle"))),
  send: ({ body }) => ({ message_id: device.send(bytes(body, "body")) }),
  status: () => device.status(),
  close: () => done(device.close()),
  start_pairing: () => ({ pairing_token: device.startPairing() }),
  accept: (params) => done(device.accept(text(params.request, "request"))),
  cancel_pairing: () => done(device.cancelPairing()),
  join: (params) => done(device.join(text(params.pairing_token, "pairing_token"))),
  cancel_join: () => done(device.cancelJoin()),
  remove: ({ member }) => done(device.remove(text(member, "member"))),
  leave: () => done(device.leave()),
  destroy_group: () => done(device.destroyGroup()),
  "relay.connected": () => done(device.relayConnected()),
  "relay.disconnected": () => done(device.relayDisconnected()),
  "relay.deliver": ({ session, blob_id, envelope }) => done(device.deliver(session, blob_id, envelope)),
};

const NEED_NO_DEVICE = new Set(["initialize", "open", "reset"]);

function done() {
  return {};
}

function parse(line) {
  try {
    return JSON.parse(line);
  } catch {
    throw new ProtocolError(-32700, "The line is not JSON.");
  }
}

function call({ method, params = {} }) {
  if (!Object.hasOwn(METHODS, method)) throw new ProtocolError(-32601, `There is no method ${method}.`);
  if (!isObject(params)) throw new ProtocolError(-32602, "params must be an object.");
  if (device === null && !NEED_NO_DEVICE.has(method)) throw new ProtocolError(-32600, `${method} needs an open device.`);
  return METHODS[method](params);
}

function errorOf(error) {
  if (error instanceof ApiError) return { code: 1, message: error.message, data: error.data };
  if (error instanceof StoreError) return { code: 1, message: error.message, data: { case: error.problem } };
  if (error instanceof ProtocolError) return { code: error.code, message: error.message };
  console.error(error);
  return { code: -32603, message: String(error.message) };
}

function answered({ id, result }) {
  const onResult = unanswered.get(id);
  unanswered.delete(id);
  onResult?.(result);
}

function serve(line) {
  let message = null;
  try {
    message = parse(line);
    if (!isObject(message)) throw new ProtocolError(-32600, "A message is one object.");
    if (message.method === undefined && message.id !== undefined) return answered(message);
    if (typeof message.method !== "string") throw new ProtocolError(-32600, "A message has a method or an answer.");
    const result = call(message);
    if (message.id !== undefined) say({ id: message.id, result });
  } catch (error) {
    const failure = errorOf(error);
    const isNotification = typeof message?.method === "string" && message.id === undefined;
    if (!isNotification) say({ id: message?.id ?? null, error: failure });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  createInterface({ input: process.stdin, crlfDelay: Infinity }).on("line", serve).on("close", () => process.exit(0));
}
