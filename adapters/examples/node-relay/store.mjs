// The durable store: one append-only log. `commit` returns only after fsync, so an ack may follow it.
//
//   file   magic (8 bytes), then frames
//   frame  length u32, its complement u32, first 8 bytes of SHA-256(payload), payload; one frame is one transaction
//   record 1 put   id u64, arrival u64, device 32, length u32, envelope
//          2 del   id u64
//          3 next  id u64: ids below it were given out (written by compaction, so that no id comes twice)
//
// A frame that runs past the end of the file, or the last one with a wrong digest, was being written when the process
// or the machine died: nobody was told that it is stored, and it is cut off. Damage anywhere else is an error.

import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";

const MAGIC = Buffer.from("nrelay1\n");
const HEADER = 16;
const PUT = 1;
const DEL = 2;
const NEXT = 3;
const PUT_HEAD = 1 + 8 + 8 + 32 + 4;
const COMPACTION_FLOOR = 1024 * 1024;
const COMPACTION_FRAME = 1024 * 1024;
const PRIVATE = 0o600;

/** The log cannot be read or written. */
export class StoreError extends Error {}

export const put = (blob) => ({ put: blob });
export const del = (id) => ({ del: id });

function encodePut({ id, device, arrival, envelope }) {
  const head = Buffer.alloc(PUT_HEAD);
  head.writeUInt8(PUT, 0);
  head.writeBigUInt64BE(id, 1);
  head.writeBigUInt64BE(BigInt(arrival), 9);
  head.write(device, 17, "hex");
  head.writeUInt32BE(envelope.length, 49);
  return [head, envelope];
}

function encodeId(kind, id) {
  const record = Buffer.alloc(9);
  record.writeUInt8(kind, 0);
  record.writeBigUInt64BE(id, 1);
  return [record];
}

const encode = (record) => (record.put ? encodePut(record.put) : encodeId(DEL, record.del));

const digest = (payload) => createHash("sha256").update(payload).digest().subarray(0, 8);

function frame(parts) {
  const payload = Buffer.concat(parts);
  const header = Buffer.alloc(8);
  header.writeUInt32BE(payload.length, 0);
  header.writeUInt32BE(~payload.length >>> 0, 4);
  return Buffer.concat([header, digest(payload), payload]);
}

/** The payload of the frame at `at`, or null where a write was cut off; throws StoreError for damage. */
function readFrame(log, at) {
  if (log.length - at < HEADER) return null;
  const length = log.readUInt32BE(at);
  if (log.readUInt32BE(at + 4) !== ~length >>> 0) {
    // A file that grew before its bytes reached the disk ends in zeros.
    if (log.subarray(at).every((byte) => byte === 0)) return null;
    throw new StoreError(`The log is damaged at byte ${at}: no frame begins there. Restore it from a copy.`);
  }
  const end = at + HEADER + length;
  if (end > log.length) return null;
  const payload = log.subarray(at + HEADER, end);
  if (digest(payload).equals(log.subarray(at + 8, at + HEADER))) return payload;
  if (end === log.length) return null;
  throw new StoreError(`The log is damaged at byte ${at}: the digest does not match. Restore it from a copy.`);
}

function writeFully(fd, bytes, position) {
  let done = 0;
  while (done < bytes.length) done += fs.writeSync(fd, bytes, done, bytes.length - done, position + done);
}

function syncFolder(folder) {
  const fd = fs.openSync(folder, "r");
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

const NO_HOOKS = { before() {}, after() {} };

export class Store {
  /** When true, each commit fails as on a full disk. */
  failing = false;
  #folder;
  #file;
  #hooks;
  #fd = null;
  #length = 0; // bytes of the log that are whole and durable
  #liveBytes = 0;
  #compactFrom = 0; // length of the log from which the next compaction may be tried
  #suspect = false; // a failed write may have left bytes after #length
  #folderUnsynced = false;
  #live = new Map();
  #nextId = 1n;

  /** Open or create the log in an existing folder. `hooks.before/after` run around each committed transaction. */
  constructor(folder, hooks = NO_HOOKS) {
    this.#folder = folder;
    this.#file = path.join(folder, "relay.log");
    this.#hooks = hooks;
    try {
      fs.rmSync(this.#compacted, { force: true });
      this.#fd = fs.openSync(this.#file, fs.constants.O_RDWR | fs.constants.O_CREAT, PRIVATE);
      this.#load(fs.readFileSync(this.#fd));
    } catch (error) {
      this.close();
      throw error instanceof StoreError ? error : new StoreError(`The log cannot be opened: ${error.message}`);
    }
  }

  /** The stored blobs in arrival order. */
  get blobs() {
    return this.#live.values();
  }

  /** Above every blob id that was ever committed. */
  get nextId() {
    return this.#nextId;
  }

  /** Write records as one transaction and make them durable; throws StoreError, and then none of them is stored. */
  commit(records) {
    if (this.failing) throw new StoreError("The disk is full (injected).");
    this.#hooks.before();
    const bytes = frame(records.flatMap(encode));
    try {
      this.#repair();
      writeFully(this.#fd, bytes, this.#length);
      fs.fsyncSync(this.#fd);
    } catch (error) {
      this.#cutOff();
      throw new StoreError(`The log cannot be written: ${error.message}`);
    }
    this.#length += bytes.length;
    for (const record of records) this.#apply(record);
    this.#hooks.after();
    if (this.#isMostlyDead()) this.#compact();
  }

  close() {
    if (this.#fd !== null) fs.closeSync(this.#fd);
    this.#fd = null;
  }

  get #compacted() {
    return `${this.#file}.new`;
  }

  #load(log) {
    if (log.length < MAGIC.length) {
      if (!MAGIC.subarray(0, log.length).equals(log)) throw new StoreError("The log has a foreign beginning.");
      this.#create();
      return;
    }
    if (!log.subarray(0, MAGIC.length).equals(MAGIC)) throw new StoreError("The log has a foreign beginning.");
    let at = MAGIC.length;
    for (let payload; at < log.length && (payload = readFrame(log, at)) !== null; at += HEADER + payload.length) {
      this.#replay(payload);
    }
    this.#length = at;
    if (at < log.length) this.#cutOff();
    // What was read may be in the page cache only; it becomes the ground for deliveries now.
    fs.fsyncSync(this.#fd);
  }

  #create() {
    writeFully(this.#fd, MAGIC, 0);
    fs.fsyncSync(this.#fd);
    syncFolder(this.#folder);
    this.#length = MAGIC.length;
  }

  #replay(payload) {
    let at = 0;
    while (at < payload.length) {
      const kind = payload.readUInt8(at);
      const id = payload.readBigUInt64BE(at + 1);
      if (kind === PUT) {
        const end = at + PUT_HEAD + payload.readUInt32BE(at + 49);
        const device = payload.toString("hex", at + 17, at + 49);
        const arrival = Number(payload.readBigUInt64BE(at + 9));
        // A copy, so that one small live blob does not keep the whole log in memory.
        this.#apply(put({ id, device, arrival, envelope: Buffer.from(payload.subarray(at + PUT_HEAD, end)) }));
        at = end;
      } else if (kind === DEL || kind === NEXT) {
        if (kind === DEL) this.#apply(del(id));
        else this.#reach(id);
        at += 9;
      } else {
        throw new StoreError(`The log holds a record of the unknown kind ${kind}: a newer program wrote it.`);
      }
    }
  }

  #apply(record) {
    if (record.put) {
      this.#live.set(record.put.id, record.put);
      this.#liveBytes += PUT_HEAD + record.put.envelope.length;
      this.#reach(record.put.id + 1n);
      return;
    }
    const blob = this.#live.get(record.del);
    if (blob === undefined) return;
    this.#live.delete(record.del);
    this.#liveBytes -= PUT_HEAD + blob.envelope.length;
  }

  #reach(id) {
    if (id > this.#nextId) this.#nextId = id;
  }

  #repair() {
    if (this.#suspect) {
      fs.ftruncateSync(this.#fd, this.#length);
      fs.fsyncSync(this.#fd);
      this.#suspect = false;
    }
    if (this.#folderUnsynced) {
      syncFolder(this.#folder);
      this.#folderUnsynced = false;
    }
  }

  /** Remove what follows the last whole frame: at once if the disk lets us, else before the next commit. */
  #cutOff() {
    this.#suspect = true;
    try {
      this.#repair();
    } catch {
      // Still suspect: #repair runs again, and fails the next commit if it must.
    }
  }

  #isMostlyDead() {
    const dead = this.#length - this.#liveBytes;
    return dead >= this.#liveBytes + COMPACTION_FLOOR && this.#length >= this.#compactFrom;
  }

  /** Write the live blobs to a new log and put it in the old one's place; on failure the old one stays in use. */
  #compact() {
    let fd = null;
    try {
      fs.rmSync(this.#compacted, { force: true });
      fd = fs.openSync(this.#compacted, "wx+", PRIVATE);
      const length = this.#writeLive(fd);
      fs.fsyncSync(fd);
      fs.renameSync(this.#compacted, this.#file);
      this.close();
      this.#fd = fd;
      this.#length = length;
      this.#folderUnsynced = true;
      this.#repair();
    } catch {
      if (fd !== null && fd !== this.#fd) this.#discard(fd);
      this.#compactFrom = this.#length + COMPACTION_FLOOR;
    }
  }

  #discard(fd) {
    fs.closeSync(fd);
    try {
      fs.rmSync(this.#compacted, { force: true });
    } catch {
      // It is removed before the next compaction and at the next start.
    }
  }

  #writeLive(fd) {
    writeFully(fd, MAGIC, 0);
    let length = MAGIC.length;
    let parts = encodeId(NEXT, this.#nextId);
    let size = 0;
    const flush = () => {
      const bytes = frame(parts);
      writeFully(fd, bytes, length);
      length += bytes.length;
      parts = [];
      size = 0;
    };
    for (const blob of this.#live.values()) {
      parts.push(...encodePut(blob));
      size += blob.envelope.length;
      if (size >= COMPACTION_FRAME) flush();
    }
    if (parts.length > 0) flush();
    return length;
  }
}
