// Session State: what survives a restart, and what each durable record does to it. No record needs another to be whole:
// whatever must happen together stands in one.

import { randomBytes } from "node:crypto";

export const DEDUP_RETENTION = 60 * 86_400_000;

/** Sequences skip to the next multiple of this at each start, so that a number is never taken twice. */
const SEQUENCE_BLOCK = 16n;

export function emptyState() {
  return {
    identity: null, // {name, noise_pub, signing_pub}
    status: "notJoined",
    manifests: [], // bodies (base64) accepted so far, the current one last
    pendingJoin: null, // a Pairing Token's fields
    nextSequence: 0n,
    outbox: new Map(), // sequence -> {sequence, kind, at, body, to: Set of Noise keys}, in Sequence order
    handled: new Map(), // Message ID -> the time up to which it is kept
  };
}

export function newIdentity(name) {
  const key = () => randomBytes(32).toString("hex");
  return { name, noise_pub: key(), signing_pub: key() };
}

/** A later start takes its Sequences from a new block. Needs no write: what was taken is below it in any case. */
export function skipToNewBlock(state) {
  state.nextSequence = ((state.nextSequence + SEQUENCE_BLOCK - 1n) / SEQUENCE_BLOCK) * SEQUENCE_BLOCK;
}

export function apply(state, record) {
  EFFECTS[record.op](state, record);
}

const EFFECTS = {
  provisioned(state, { identity, manifest }) {
    state.identity = identity;
    if (manifest === null) return;
    state.manifests.push(manifest);
    state.status = "member";
  },
  queued(state, { message }) {
    queue(state, message);
  },
  finished(state, { sequence, to }) {
    finish(state, BigInt(sequence), to);
  },
  handled(state, { id, until }) {
    state.handled.set(id, until);
  },
  manifestChanged(state, { manifest, message }) {
    state.manifests.push(manifest);
    state.status = state.status === "notJoined" ? "member" : state.status;
    if (message) queue(state, message);
  },
  joinBegun(state, { token, message }) {
    forgetKinds(state, ["pair"]);
    state.pendingJoin = token;
    state.status = "pendingJoin";
    queue(state, message);
  },
  joinCancelled(state) {
    forgetKinds(state, ["pair"]);
    state.pendingJoin = null;
    state.status = "notJoined";
  },
  joined(state, { manifest }) {
    forgetKinds(state, ["pair"]);
    state.pendingJoin = null;
    state.manifests = [manifest];
    state.status = "member";
  },
  leaving(state, { message }) {
    state.status = "leaving";
    forgetKinds(state, ["sync"]);
    queue(state, message);
  },
  destroying(state, { message }) {
    state.status = "destroying";
    state.outbox.clear();
    queue(state, message);
  },
  manifestsRebuilt(state, { bodies }) {
    const rebuilt = new Map(bodies);
    state.manifests = state.manifests.map((body) => rebuilt.get(body) ?? body);
    for (const entry of state.outbox.values()) entry.body = rebuilt.get(entry.body) ?? entry.body;
  },
  wiped(state, { identity }) {
    Object.assign(state, emptyState(), { identity });
  },
  snapshot(state, { kept, nextSequence, outbox, handled }) {
    Object.assign(state, emptyState(), kept);
    outbox.forEach((message) => queue(state, message));
    state.nextSequence = BigInt(nextSequence);
    state.handled = new Map(handled);
  },
};

/** The state as one record. Dedup records that the Replay Window has made useless are left out. */
export function snapshot(state, now) {
  const { identity, status, manifests, pendingJoin } = state;
  return {
    op: "snapshot",
    kept: { identity, status, manifests, pendingJoin },
    nextSequence: String(state.nextSequence),
    outbox: [...state.outbox.values()].map((it) => ({ ...it, sequence: String(it.sequence), to: [...it.to] })),
    handled: [...state.handled].filter(([, until]) => until >= now),
  };
}

function queue(state, message) {
  const sequence = BigInt(message.sequence);
  state.nextSequence = sequence + 1n;
  if (message.to.length > 0) state.outbox.set(sequence, { ...message, sequence, to: new Set(message.to) });
}

function finish(state, sequence, recipients) {
  const entry = state.outbox.get(sequence);
  if (!entry) return;
  recipients.forEach((recipient) => entry.to.delete(recipient));
  if (entry.to.size === 0) state.outbox.delete(sequence);
}

function forgetKinds(state, kinds) {
  for (const [sequence, entry] of state.outbox) if (kinds.includes(entry.kind)) state.outbox.delete(sequence);
}
