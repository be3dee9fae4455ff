// Plain Envelopes: the structure and the bindings of sealed ones, as JSON. Nothing here knows a device's state.

import { createHash, randomBytes } from "node:crypto";

export const TAG = Object.freeze({ pair: 1, sync: 2, revoke: 3, groupManifest: 4 });

const KEY = /^[0-9a-f]{64}$/;
const U64 = /^(0|[1-9][0-9]{0,19})$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const U64_MAX = 2n ** 64n - 1n;
const MESSAGE_ID_DOMAIN = Buffer.from("trueseal-message-id-v1\0");
const BOUND_FIELDS = ["end_to_end_version", "recipient_pub", "ephemeral_pub"];

const SEALED_FIELDS = {
  bound: isObject,
  author_pub: isKey,
  sequence: isU64,
  parents: (value) => Array.isArray(value) && value.every((parent) => typeof parent === "string"),
  sender_timestamp: (value) => Number.isInteger(value) && value >= 0,
  tag: Number.isInteger,
  body: isBase64,
  signature: (value) => typeof value === "string",
};

export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isKey(value) {
  return typeof value === "string" && KEY.test(value);
}

export function isU64(value) {
  return typeof value === "string" && U64.test(value) && BigInt(value) <= U64_MAX;
}

export function isBase64(value) {
  return typeof value === "string" && BASE64.test(value);
}

/** True if `value` is an object with exactly the fields of `checks`, each of which passes its check. */
export function hasExactly(value, checks) {
  const names = Object.keys(checks);
  return isObject(value) && Object.keys(value).length === names.length
    && names.every((name) => Object.hasOwn(value, name) && checks[name](value[name]));
}

/** The Message ID of what `authorPub` (hex) sent as `sequence` (BigInt or decimal text). */
export function messageId(authorPub, sequence) {
  const number = Buffer.alloc(8);
  number.writeBigUInt64BE(BigInt(sequence));
  const hash = createHash("sha256").update(MESSAGE_ID_DOMAIN).update(Buffer.from(authorPub, "hex")).update(number);
  return "tsm1_" + hash.digest("base64url");
}

/** Seals for one recipient. `content` has author_pub, sequence, sender_timestamp, tag and body (base64). */
export function seal(content, version, recipientPub) {
  const bound = {
    end_to_end_version: version, recipient_pub: recipientPub, ephemeral_pub: randomBytes(32).toString("hex"),
  };
  return { ...bound, sealed: { bound, parents: [], ...content, signature: signatureOf(content.author_pub, bound) } };
}

/** What is sealed in `envelope`, or null if it does not open for the device with the Noise key `ownPub`. */
export function unseal(envelope, ownPub) {
  const { sealed } = envelope;
  const opens = envelope.recipient_pub === ownPub
    && hasExactly(sealed, SEALED_FIELDS)
    && hasExactly(sealed.bound, Object.fromEntries(BOUND_FIELDS.map((name) => [name, (it) => it === envelope[name]])));
  return opens ? sealed : null;
}

export function signatureVerifies(envelope) {
  return envelope.sealed.signature === signatureOf(envelope.sealed.author_pub, envelope);
}

function signatureOf(authorPub, outer) {
  return ["plain", authorPub, outer.end_to_end_version, outer.recipient_pub, outer.ephemeral_pub].join(":");
}
