// The protocol's encodings, read strictly: what is not the one canonical spelling is refused.

export const U64_MAX = 2n ** 64n - 1n;

/** A parameter of a request that does not fit the protocol (JSON-RPC -32602). */
export class InvalidParams extends Error {}

function refuse(field, expected) {
  throw new InvalidParams(`The parameter ${field} is not ${expected}.`);
}

/** Standard base64 with padding -> Buffer. Node's decoder is lenient, so the bytes must encode back to the text. */
export function bytes(value, field) {
  if (typeof value !== "string") refuse(field, "base64 text");
  const decoded = Buffer.from(value, "base64");
  if (decoded.toString("base64") !== value) refuse(field, "standard base64 with padding");
  return decoded;
}

/** A 32-byte key as 64 lower-case hex digits -> the same text. */
export function key(value, field) {
  if (typeof value !== "string" || !/^[0-9a-f]{64}$/.test(value)) refuse(field, "64 lower-case hex digits");
  return value;
}

/** A u64 as a decimal string without sign or leading zeros -> BigInt. */
export function u64(value, field) {
  if (typeof value !== "string" || !/^(0|[1-9][0-9]{0,19})$/.test(value)) refuse(field, "a u64 in decimal");
  const number = BigInt(value);
  if (number > U64_MAX) refuse(field, "a u64: it is above 2^64 - 1");
  return number;
}

/** Milliseconds since the Unix epoch, or any other count -> the same number. */
export function count(value, field) {
  if (!Number.isSafeInteger(value) || value < 0) refuse(field, "a whole number of 0 or more");
  return value;
}

export function text(value, field) {
  if (typeof value !== "string") refuse(field, "text");
  return value;
}

export function object(value, field) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) refuse(field, "an object");
  return value;
}

export function oneOf(choices) {
  return (value, field) => (choices.includes(value) ? value : refuse(field, `one of ${choices.join(", ")}`));
}
