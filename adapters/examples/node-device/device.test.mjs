import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { ApiError, Device } from "./device.mjs";
import { pause } from "./outbox.mjs";
import { messageId, seal, TAG } from "./plain_envelope.mjs";
import { Store } from "./store.mjs";

const DAY = 86_400_000;
const NOW = 1_893_456_000_000;
const key = (digit) => digit.repeat(64);
const ALICE = { name: "alice", noise_pub: key("a"), signing_pub: key("1") };
const BOB = { name: "bob", noise_pub: key("b"), signing_pub: key("2") };

let folder;
let seen;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "node-device-"));
  seen = { pushes: [], acks: [], calls: [], issues: [], events: [], sessions: [] };
});

afterEach(() => rmSync(folder, { recursive: true }));

function manifest() {
  const fields = { group_id: "00", version: "1", parent: "", members: [ALICE, BOB].map(reordered) };
  const text = JSON.stringify({ ...fields, issued_by: ALICE.signing_pub, signature: `plain:${ALICE.signing_pub}:1` });
  return Buffer.from(text).toString("base64");
}

function reordered({ name, noise_pub, signing_pub }) {
  return { noise_pub, signing_pub, name };
}

function open(changes = {}) {
  const settings = {
    data_folder: folder, now: NOW, end_to_end_version: 1, max_payload_bytes: null,
    provision: { identity: ALICE, manifest: manifest() }, ...changes,
  };
  return new Device(settings, {
    push: (recipient, envelope, answer) => seen.pushes.push({ recipient, envelope, answer }),
    openReceiveSession: (device, answer) => seen.sessions.push({ device, answer }),
    deliverAck: (session, blobId) => seen.acks.push(blobId),
    callHandler: (message, end) => seen.calls.push({ message, end }),
    issue: (issue) => seen.issues.push(issue),
    event: (event) => seen.events.push(event),
  });
}

function connect(device, session = "s1") {
  device.relayConnected();
  seen.sessions.at(-1).answer({ outcome: "opened", session });
}

function fromBob(sequence, changes = {}) {
  const content = { author_pub: BOB.signing_pub, sequence, sender_timestamp: NOW, tag: TAG.sync, body: "aGk=" };
  return seal({ ...content, ...changes }, 1, ALICE.noise_pub);
}

test("what send() returned survives a restart and is pushed first", () => {
  const device = open();
  const first = device.send(Buffer.from("first"));
  device.close();
  const again = open({ provision: null });
  again.send(Buffer.from("second"));
  connect(again);
  assert.equal(seen.pushes.length, 1);
  const { sequence, body, sender_timestamp } = seen.pushes[0].envelope.sealed;
  assert.deepEqual([body, sender_timestamp], [Buffer.from("first").toString("base64"), NOW]);
  assert.equal(messageId(ALICE.signing_pub, sequence), first);
});

test("the head of the line goes alone, and a refusal keeps its place", () => {
  const device = open();
  connect(device);
  device.send(Buffer.from("1"));
  device.send(Buffer.from("2"));
  seen.pushes[0].answer({ outcome: "refused", code: "inbox_full" });
  const retryAt = device.settle();
  assert.ok(retryAt >= NOW + 1_000);
  device.advance(retryAt);
  assert.deepEqual(seen.pushes.map((push) => push.envelope.sealed.body), ["MQ==", "MQ=="]);
});

test("pauses stay between a second and five minutes", () => {
  for (const random of [() => 0, () => 0.999]) {
    const pauses = [1, 2, 3, 6, 7, 50].map((failures) => pause(failures, random));
    assert.ok(pauses.every((it) => it >= 1_000 && it <= 300_000));
    assert.deepEqual(pauses, [...pauses].sort((a, b) => a - b));
  }
});

test("after 30 days an entry is given up with one issue", () => {
  const device = open();
  device.onDeliveryIssue();
  const id = device.send(Buffer.from("late"));
  device.advance(NOW + 30 * DAY);
  assert.deepEqual(seen.issues, [{ case: "sendFailed", message_id: id, reason: "expired" }]);
  assert.equal(device.settle(), null);
});

test("the ack waits for the handler, and a copy is a duplicate after a restart", () => {
  const device = open();
  device.onMessage();
  connect(device);
  device.deliver("s1", "7", fromBob("1"));
  assert.deepEqual(seen.acks, []);
  seen.calls[0].end({ outcome: "returned" });
  assert.deepEqual(seen.acks, ["7"]);
  device.close();

  const again = open({ provision: null });
  again.onMessage();
  connect(again, "s2");
  again.deliver("s2", "8", fromBob("1"));
  assert.deepEqual([seen.calls.length, seen.acks], [1, ["7", "8"]]);
});

test("a handler that throws five times is given up", () => {
  const device = open();
  device.onDeliveryIssue();
  device.onMessage();
  connect(device);
  device.deliver("s1", "7", fromBob("1"));
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    seen.calls.at(-1).end({ outcome: "threw", error: "no" });
    device.advance(device.settle() ?? NOW);
  }
  assert.deepEqual([seen.calls.length, seen.acks], [5, ["7"]]);
  assert.deepEqual(seen.issues.map((issue) => issue.case), ["handlerGaveUp"]);
});

test("the Replay Window is 60 days to the millisecond", () => {
  const device = open();
  device.onDeliveryIssue();
  device.onMessage();
  connect(device);
  device.deliver("s1", "1", fromBob("1", { sender_timestamp: NOW - 60 * DAY - 1 }));
  device.deliver("s1", "2", fromBob("2", { sender_timestamp: NOW - 60 * DAY }));
  assert.deepEqual(seen.issues, [{ case: "unreadable", reason: "expired" }]);
  assert.deepEqual(seen.calls.map(({ message }) => message.id), [messageId(BOB.signing_pub, "2")]);
});

test("an upgrade signs a queued manifest anew", () => {
  const device = open();
  device.remove(device.status().members[0].id);
  device.close();
  connect(open({ provision: null, end_to_end_version: 2 }));
  const body = JSON.parse(Buffer.from(seen.pushes[0].envelope.sealed.body, "base64"));
  assert.equal(body.signature, `plain:${ALICE.signing_pub}:2`);
});

test("a device that leaves has a new identity once the relay took its farewell", () => {
  const device = open();
  device.send(Buffer.from("never"));
  device.leave();
  assert.throws(() => device.send(Buffer.from("x")), (error) => error instanceof ApiError
    && error.data.case === "notMember" && error.data.status === "leaving");
  connect(device);
  seen.pushes[0].answer({ outcome: "ack" });
  assert.deepEqual([seen.pushes.length, device.status().status], [1, "notJoined"]);
  assert.notEqual(device.status().me.signing_pub, ALICE.signing_pub);
});

test("the log is private, and a torn end is cut off wherever it was torn", () => {
  const store = new Store(folder);
  store.open();
  store.append({ op: "one" });
  const whole = store.size;
  store.append({ op: "two" });
  const end = store.size;
  store.close();
  const path = join(folder, readdirSync(folder)[0]);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  const bytes = readFileSync(path);
  for (let size = whole; size < end; size += 1) {
    writeFileSync(path, bytes);
    truncateSync(path, size);
    const reader = new Store(folder);
    assert.deepEqual(reader.open(), [{ op: "one" }]);
    reader.close();
    assert.equal(statSync(path).size, whole);
  }
});

test("damage in front of whole records is refused and left as it is", () => {
  const store = new Store(folder);
  store.open();
  store.append({ op: "one" });
  store.append({ op: "two" });
  store.close();
  const path = join(folder, readdirSync(folder)[0]);
  const bytes = readFileSync(path);
  bytes[bytes.indexOf("one")] ^= 1;
  writeFileSync(path, bytes);
  assert.throws(() => new Store(folder).open(), { problem: "storage" });
  assert.deepEqual(readFileSync(path), bytes);
});
