// The durable log: records that are each whole or absent. A record is `u32 length | 8 bytes of SHA-256 | JSON`, all of
// it on disk before append() returns. What a crash left half written can only be the end of the file; it is cut off.

import { createHash } from "node:crypto";
import {
  closeSync, existsSync, fstatSync, fsyncSync, ftruncateSync, openSync, readFileSync, renameSync, writeSync,
} from "node:fs";
import { join } from "node:path";

export const STORE_VERSION = 1;

const LOG = "session-state.log";
const PRIVATE = 0o600;
const HEADER_BYTES = 12;

/** A failure of the store. `problem` is the API's name for it: `storage` or `storeTooNew`. */
export class StoreError extends Error {
  constructor(problem, message) {
    super(message);
    this.problem = problem;
  }
}

export class Store {
  #file;
  #folder;
  #size = 0;
  #crash = null;

  constructor(folder) {
    this.#folder = folder;
  }

  /** Opens the log of `folder`, makes one if there is none, and returns its records in the order written. */
  open() {
    const path = join(this.#folder, LOG);
    if (!existsSync(path)) {
      this.#replaceLog([]);
      return [];
    }
    const { records, end } = readLog(readFileSync(path), path);
    this.#file = openSync(path, "r+", PRIVATE);
    if (fstatSync(this.#file).size > end) {
      ftruncateSync(this.#file, end);
      fsyncSync(this.#file);
    }
    this.#size = end;
    return records;
  }

  get size() {
    return this.#size;
  }

  get isOpen() {
    return this.#file !== undefined;
  }

  append(record) {
    this.#crashIf("before");
    const bytes = encode(record);
    try {
      writeWhole(this.#file, bytes, this.#size);
      fsyncSync(this.#file);
    } catch (error) {
      this.#cutBack();
      throw new StoreError("storage", `A record could not be written to the store: ${error.message}`);
    }
    this.#size += bytes.length;
    this.#crashIf("after");
    this.#countWrite();
  }

  /** Puts `records` in the place of all that was written so far. Counts as housekeeping, not as a write. */
  compact(records) {
    closeSync(this.#file);
    this.#replaceLog(records);
  }

  /** Dies as from SIGKILL before or after the write-th append from now on. */
  crashAt(write, when) {
    this.#crash = { write, when };
  }

  close() {
    if (this.isOpen) closeSync(this.#file);
    this.#file = undefined;
  }

  #replaceLog(records) {
    const path = join(this.#folder, LOG);
    const fresh = path + ".new";
    const bytes = Buffer.concat([{ store_version: STORE_VERSION }, ...records].map(encode));
    const file = openSync(fresh, "w+", PRIVATE);
    writeWhole(file, bytes, 0);
    fsyncSync(file);
    renameSync(fresh, path);
    syncFolder(this.#folder);
    this.#file = file;
    this.#size = bytes.length;
  }

  #cutBack() {
    try {
      ftruncateSync(this.#file, this.#size);
    } catch {
      // The next append overwrites the same place, and a torn end is cut off at the next start.
    }
  }

  #crashIf(when) {
    if (this.#crash?.write === 1 && this.#crash.when === when) process.kill(process.pid, "SIGKILL");
  }

  #countWrite() {
    if (this.#crash) this.#crash.write -= 1;
  }
}

function encode(record) {
  const text = Buffer.from(JSON.stringify(record));
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32BE(text.length);
  checksum(text).copy(header, 4);
  return Buffer.concat([header, text]);
}

function checksum(bytes) {
  return createHash("sha256").update(bytes).digest().subarray(0, 8);
}

function readLog(bytes, path) {
  const records = [];
  let end = 0;
  while (end + HEADER_BYTES <= bytes.length) {
    const next = end + HEADER_BYTES + bytes.readUInt32BE(end);
    if (next > bytes.length) break;
    const text = bytes.subarray(end + HEADER_BYTES, next);
    if (!checksum(text).equals(bytes.subarray(end + 4, end + HEADER_BYTES))) {
      if (next === bytes.length) break;
      throw new StoreError("storage", `${path} is damaged at byte ${end}, in front of whole records.`);
    }
    records.push(JSON.parse(text));
    end = next;
  }
  const [first, ...rest] = records;
  if (!Number.isInteger(first?.store_version)) throw new StoreError("storage", `${path} is not a store.`);
  if (first.store_version > STORE_VERSION) throw new StoreError("storeTooNew", `${path} is of a newer library.`);
  return { records: rest, end };
}

function writeWhole(file, bytes, position) {
  for (let done = 0; done < bytes.length;) {
    done += writeSync(file, bytes, done, bytes.length - done, position + done);
  }
}

function syncFolder(folder) {
  const file = openSync(folder, "r");
  fsyncSync(file);
  closeSync(file);
}
