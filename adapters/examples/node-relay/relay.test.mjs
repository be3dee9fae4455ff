import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { beforeEach, afterEach, describe, it, mock } from "node:test";

import * as read from "./encoding.mjs";
import { Relay, SettingRefused, settingsFrom, TTL_CEILING } from "./relay.mjs";
import { del, put, Store, StoreError } from "./store.mjs";

const A = "aa".repeat(32);
const B = "bb".repeat(32);
const NOW = 1_893_456_000_000;

const body = (device, envelope) => Buffer.concat([Buffer.from(device, "hex"), Buffer.from(envelope)]);
const blobOf = (id, envelope = "x", device = A) => ({ id, device, arrival: NOW, envelope: Buffer.from(envelope) });
const ids = (blobs) => [...blobs].map(({ id }) => id);

function relayWith(settings = {}, blobs = [], nextId = 1n) {
  let sessions = 0;
  const newSession = () => `s${++sessions}`;
  return new Relay({ settings: settingsFrom(settings), blobs, nextId, now: NOW, newSession });
}

function pushed(relay, device, envelope) {
  const { blob } = relay.admit(body(device, envelope));
  return { blob, sessions: relay.stored(blob) };
}

describe("settings", () => {
  it("starts at exactly 30 days and refuses more (RLY-015)", () => {
    assert.equal(settingsFrom({}).ttl, TTL_CEILING);
    assert.equal(settingsFrom({ ttl: TTL_CEILING }).ttl, TTL_CEILING);
    assert.throws(() => settingsFrom({ ttl: TTL_CEILING + 1 }), { setting: "ttl" });
  });
  it("refuses a name it does not know", () => {
    assert.throws(() => settingsFrom({ colour: 1 }), SettingRefused);
  });
});

describe("deliveries", () => {
  it("sends the inbox in arrival order to a new session, and later blobs to each open one (RLY-003, RLY-020)", () => {
    const relay = relayWith();
    const first = pushed(relay, A, "1");
    const second = pushed(relay, A, "2");
    pushed(relay, B, "other");
    const one = relay.openReceiveSession(A);
    const two = relay.openReceiveSession(A);
    assert.deepEqual(ids(one.blobs), [first.blob.id, second.blob.id]);
    assert.deepEqual(ids(two.blobs), ids(one.blobs));
    assert.deepEqual(pushed(relay, A, "3").sessions, [one.session, two.session]);
    assert.deepEqual(first.sessions, []);
  });
  it("shows no admitted blob before it is stored", () => {
    const relay = relayWith();
    relay.admit(body(A, "1"));
    assert.deepEqual(relay.openReceiveSession(A).blobs, []);
    assert.equal(relay.nextTimer(), null);
  });
  it("ends the oldest of a device's sessions to make room for a fifth", () => {
    const relay = relayWith();
    const [oldest] = [1, 2, 3, 4].map(() => relay.openReceiveSession(A).session);
    relay.openReceiveSession(B);
    assert.deepEqual(relay.openReceiveSession(A).ended, [oldest]);
  });
});

describe("refusals", () => {
  it("takes a body of 32 bytes and not one of 31 (RLY-009)", () => {
    const relay = relayWith();
    assert.deepEqual(relay.admit(Buffer.alloc(31)), { refused: "malformed" });
    assert.equal(relay.admit(Buffer.alloc(32)).blob.envelope.length, 0);
  });
  it("takes an envelope at the size limit and not one byte more", () => {
    const relay = relayWith({ max_envelope_bytes: 3 });
    assert.deepEqual(relay.admit(body(A, "1234")), { refused: "too_large" });
    assert.equal(relay.admit(body(A, "123")).blob.envelope.length, 3);
  });
  it("counts blobs, admitted ones too, and frees the quota with a deletion (RLY-010)", () => {
    const relay = relayWith({ max_blobs_per_inbox: 2 });
    const { blob } = pushed(relay, A, "1");
    const waiting = relay.admit(body(A, "2"));
    assert.deepEqual(relay.admit(body(A, "3")), { refused: "inbox_full" });
    relay.abandoned(waiting.blob);
    pushed(relay, A, "3");
    assert.deepEqual(relay.admit(body(A, "4")), { refused: "inbox_full" });
    relay.forget(blob);
    assert.ok(relay.admit(body(A, "4")).blob);
  });
  it("counts bytes up to exactly the limit, per inbox", () => {
    const relay = relayWith({ max_bytes_per_inbox: 10 });
    pushed(relay, A, "123456");
    assert.deepEqual(relay.admit(body(A, "12345")), { refused: "inbox_full" });
    assert.ok(relay.admit(body(A, "1234")).blob);
    assert.ok(relay.admit(body(B, "12345")).blob);
  });
  it("refills the token bucket without drift, per recipient", () => {
    const relay = relayWith({ push_rate_per_second: 20, push_burst: 1 });
    pushed(relay, A, "1");
    for (let step = 1; step < 50; step++) {
      relay.advance(NOW + step);
      assert.deepEqual(relay.admit(body(A, "2")), { refused: "rate_limited" });
    }
    assert.ok(relay.admit(body(B, "2")).blob);
    relay.advance(NOW + 50);
    assert.ok(relay.admit(body(A, "2")).blob);
    assert.deepEqual(relay.admit(body(A, "3")), { refused: "rate_limited" });
  });
  it("gives the token of an abandoned push back", () => {
    const relay = relayWith({ push_burst: 1 });
    relay.abandoned(relay.admit(body(A, "1")).blob);
    assert.ok(relay.admit(body(A, "1")).blob);
  });
  it("stops at the last u64 instead of giving an id twice", () => {
    const relay = relayWith({}, [], read.U64_MAX);
    assert.equal(pushed(relay, A, "1").blob.id, read.U64_MAX);
    assert.deepEqual(relay.admit(body(A, "2")), { refused: "internal_error" });
  });
});

describe("acks and expiry", () => {
  it("finds only a blob of the session's own device (RLY-006 to RLY-008)", () => {
    const relay = relayWith();
    const { blob } = pushed(relay, A, "1");
    const own = relay.openReceiveSession(A).session;
    const other = relay.openReceiveSession(B).session;
    assert.equal(relay.acked(other, blob.id), null);
    assert.equal(relay.acked(own, blob.id + 1n), null);
    assert.equal(relay.acked(own, blob.id), blob);
    relay.forget(blob);
    assert.equal(relay.acked(own, blob.id), null);
    relay.forget(blob);
    assert.deepEqual(relay.openReceiveSession(A).blobs, []);
  });
  it("ignores a late ack on a session that is closed", () => {
    const relay = relayWith();
    const { blob } = pushed(relay, A, "1");
    const { session } = relay.openReceiveSession(A);
    relay.closeReceiveSession(session);
    assert.equal(relay.acked(session, blob.id), null);
  });
  it("counts the TTL from arrival, whatever was sent since (RLY-014)", () => {
    const relay = relayWith({ ttl: 100 });
    const { blob } = pushed(relay, A, "1");
    relay.advance(NOW + 99);
    pushed(relay, A, "2");
    assert.deepEqual(ids(relay.openReceiveSession(A).blobs), [1n, 2n]);
    assert.deepEqual(relay.due(), []);
    assert.equal(relay.nextTimer(), NOW + 100);
    relay.advance(NOW + 100);
    assert.deepEqual(relay.due(), [blob]);
    relay.forget(blob);
    assert.equal(relay.nextTimer(), NOW + 199);
  });
  it("never goes back in time", () => {
    const relay = relayWith({ ttl: 100 }, [blobOf(1n)], 2n);
    relay.advance(NOW - 50);
    assert.equal(relay.admit(body(A, "1")).blob.arrival, NOW);
  });
});

describe("the store", () => {
  let folder;
  let log;
  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), "node-relay-"));
    log = path.join(folder, "relay.log");
  });
  afterEach(() => {
    mock.restoreAll();
    fs.rmSync(folder, { recursive: true });
  });

  function written(...transactions) {
    const store = new Store(folder);
    for (const records of transactions) store.commit(records);
    store.close();
  }
  function reopened() {
    const store = new Store(folder);
    const found = { blobs: [...store.blobs], nextId: store.nextId };
    store.close();
    return found;
  }

  it("keeps blobs in order, byte for byte, in a private file", () => {
    const odd = { ...blobOf(2n), envelope: Buffer.from([0, 255, 10, 13]) };
    written([put(blobOf(1n)), put(odd)], [put(blobOf(3n, "", B))], [del(1n)]);
    assert.deepEqual(reopened(), { blobs: [odd, blobOf(3n, "", B)], nextId: 4n });
    assert.equal(fs.statSync(log).mode & 0o777, 0o600);
  });
  it("survives a cut at every byte of the last transaction, and goes on after it", () => {
    written([put(blobOf(1n))]);
    const whole = fs.statSync(log).size;
    written([put(blobOf(2n)), put(blobOf(3n))]);
    const bytes = fs.readFileSync(log);
    for (let size = whole; size < bytes.length; size++) {
      fs.writeFileSync(log, bytes.subarray(0, size));
      assert.deepEqual(ids(reopened().blobs), [1n]);
      assert.equal(fs.statSync(log).size, whole);
    }
    written([put(blobOf(2n, "again"))]);
    assert.deepEqual(ids(reopened().blobs), [1n, 2n]);
  });
  it("survives a cut at every byte of the file's beginning", () => {
    written();
    const bytes = fs.readFileSync(log);
    for (let size = 0; size <= bytes.length; size++) {
      fs.writeFileSync(log, bytes.subarray(0, size));
      assert.deepEqual(reopened(), { blobs: [], nextId: 1n });
    }
  });
  it("cuts off zeros and a half-written last frame after a power loss", () => {
    written([put(blobOf(1n))]);
    fs.appendFileSync(log, Buffer.alloc(100));
    assert.deepEqual(ids(reopened().blobs), [1n]);
    written([put(blobOf(2n, "hello"))]);
    const bytes = fs.readFileSync(log);
    bytes.fill(0, bytes.length - 3);
    fs.writeFileSync(log, bytes);
    assert.deepEqual(ids(reopened().blobs), [1n]);
  });
  it("refuses a log that is damaged before its end", () => {
    written([put(blobOf(1n))], [put(blobOf(2n))]);
    const bytes = fs.readFileSync(log);
    for (const at of [0, 8, 30]) {
      const damaged = Buffer.from(bytes);
      damaged[at] ^= 1;
      fs.writeFileSync(log, damaged);
      assert.throws(() => new Store(folder), StoreError);
    }
  });
  it("leaves nothing of a transaction whose fsync failed", () => {
    const store = new Store(folder);
    store.commit([put(blobOf(1n))]);
    mock.method(fs, "fsyncSync", () => {
      throw new Error("EIO");
    });
    assert.throws(() => store.commit([put(blobOf(2n))]), StoreError);
    assert.deepEqual(ids(reopenedCopy()), [1n]);
    mock.restoreAll();
    store.commit([put(blobOf(3n))]);
    store.close();
    assert.deepEqual(ids(reopened().blobs), [1n, 3n]);

    function reopenedCopy() {
      mock.restoreAll();
      return reopened().blobs;
    }
  });
  it("fails on demand, writes nothing then, and works again", () => {
    const store = new Store(folder);
    store.failing = true;
    assert.throws(() => store.commit([put(blobOf(1n))]), StoreError);
    store.failing = false;
    store.commit([put(blobOf(2n))]);
    store.close();
    assert.deepEqual(ids(reopened().blobs), [2n]);
  });
  it("compacts what is mostly deleted, and keeps order and the next id", () => {
    const store = new Store(folder);
    store.commit([put(blobOf(1n, "keep"))]);
    const large = "x".repeat(300_000);
    for (let id = 2n; id < 12n; id++) {
      store.commit([put(blobOf(id, large))]);
      store.commit([del(id)]);
    }
    store.commit([put(blobOf(12n, "last"))]);
    store.close();
    assert.ok(fs.statSync(log).size < 1_500_000);
    assert.deepEqual(fs.readdirSync(folder), ["relay.log"]);
    assert.equal(fs.statSync(log).mode & 0o777, 0o600);
    assert.deepEqual(reopened(), { blobs: [blobOf(1n, "keep"), blobOf(12n, "last")], nextId: 13n });
  });
  it("gives no id twice when everything was deleted and compacted", () => {
    written([put(blobOf(7n, "x".repeat(1_100_000)))], [del(7n)]);
    assert.ok(fs.statSync(log).size < 100);
    assert.deepEqual(reopened(), { blobs: [], nextId: 8n });
  });
  it("keeps the old log when compaction fails", () => {
    const store = new Store(folder);
    store.commit([put(blobOf(1n)), put(blobOf(2n, "x".repeat(1_100_000)))]);
    mock.method(fs, "renameSync", () => {
      throw new Error("EIO");
    });
    store.commit([del(2n)]);
    store.commit([put(blobOf(3n))]);
    store.close();
    mock.restoreAll();
    assert.deepEqual(fs.readdirSync(folder), ["relay.log"]);
    assert.deepEqual(reopened(), { blobs: [blobOf(1n), blobOf(3n)], nextId: 4n });
  });
  it("runs its hooks around each transaction", () => {
    const seen = [];
    const size = () => fs.statSync(log).size;
    const store = new Store(folder, { before: () => seen.push(size()), after: () => seen.push(size()) });
    store.commit([put(blobOf(1n)), put(blobOf(2n))]);
    store.close();
    assert.equal(seen.length, 2);
    assert.ok(seen[0] < seen[1]);
  });
});

describe("encodings", () => {
  it("reads u64 strictly", () => {
    assert.equal(read.u64("18446744073709551615", "id"), read.U64_MAX);
    for (const bad of ["18446744073709551616", "01", "-1", "+1", "1.0", "", " 1", "0x1", 1, null]) {
      assert.throws(() => read.u64(bad, "id"), read.InvalidParams);
    }
  });
  it("reads base64 strictly", () => {
    assert.deepEqual(read.bytes("+/8=", "body"), Buffer.from([0xfb, 0xff]));
    for (const bad of ["-_8=", "+/8", "+/9=", "+/8=\n", "+ /8=", "=", 7]) {
      assert.throws(() => read.bytes(bad, "body"), read.InvalidParams);
    }
  });
  it("reads keys strictly", () => {
    for (const bad of [A.toUpperCase(), A.slice(2), `${A}aa`, `${A}\n`]) {
      assert.throws(() => read.key(bad, "device"), read.InvalidParams);
    }
  });
});
