// Pairing, the Group Manifest, Leave and Revoke: who is in the group, and what this device is in it.

import { createHash, randomBytes } from "node:crypto";
import { hasExactly, isKey, isObject, isU64, TAG } from "./plain_envelope.mjs";
import { DONE, MALFORMED, UNAUTHORIZED } from "./recipient.mjs";
import { newIdentity } from "./session_state.mjs";

const GROUP_SIZE = 32;
const VERSION_LEAP = 2n ** 32n;
const isText = (value) => typeof value === "string";

const MEMBER_FIELDS = { noise_pub: isKey, signing_pub: isKey, name: isText };
const MANIFEST_FIELDS = {
  group_id: (value) => isText(value) && /^(?:[0-9a-f]{2})+$/.test(value),
  version: isU64,
  parent: (value) => value === "" || isKey(value),
  members: (value) => Array.isArray(value) && value.every((it) => hasExactly(it, MEMBER_FIELDS)) && allDiffer(value),
  issued_by: isKey,
  signature: isText,
};
const PAIR_FIELDS = { noise_pub: isKey, signing_pub: isKey, proof: isText };
const TOKEN_FIELDS = { noise_pub: isKey, signing_pub: isKey, secret: isText };

/** An error of the API: `data` is the spec's own error. */
export class ApiError extends Error {
  constructor(problem, more = {}) {
    super(`The call failed: ${problem}.`);
    this.data = { case: problem, ...more };
  }
}

export class Membership {
  #core;
  #outbox;
  #window = null; // {secret, requests: Map of id -> {noise_pub, signing_pub, name}}, in memory only
  onWiped = () => {};

  constructor(core, outbox) {
    this.#core = core;
    this.#outbox = outbox;
  }

  get status() {
    return this.#core.state.status;
  }

  get me() {
    const { identity } = this.#core.state;
    return { id: memberId(identity.signing_pub), ...identity };
  }

  /** Every other member as {id, name}. */
  members() {
    return this.#others().map(({ signing_pub, name }) => ({ id: memberId(signing_pub), name }));
  }

  recipients() {
    return this.#others().map((member) => member.noise_pub);
  }

  /** {id, name} of the other member with this signing key, or null. */
  otherMember(signingPub) {
    const member = this.#others().find((it) => it.signing_pub === signingPub);
    return member ? { id: memberId(signingPub), name: member.name } : null;
  }

  /** A device that takes its leave runs no handlers any more. */
  get handles() {
    return !["leaving", "destroying"].includes(this.status);
  }

  demandMember() {
    if (this.status !== "member") throw new ApiError("notMember", { status: this.status });
  }

  // -- calls of the app -------------------------------------------------------------------------------------

  startPairing() {
    this.#window = { secret: randomBytes(18).toString("base64url"), requests: new Map() };
    const { noise_pub, signing_pub } = this.#core.state.identity;
    return JSON.stringify({ noise_pub, signing_pub, secret: this.#window.secret });
  }

  cancelPairing() {
    this.#window = null;
  }

  /** Admits a join request. The first one of a device without a group founds it, both members in the first manifest. */
  accept(requestId) {
    const joiner = this.#window?.requests.get(requestId);
    const founds = this.status === "notJoined";
    if (!joiner || !(founds || this.status === "member")) throw new ApiError("pairingClosed");
    const members = founds ? [this.#core.state.identity] : this.#current().members;
    if (members.length >= GROUP_SIZE) throw new ApiError("groupFull", { max: GROUP_SIZE });
    const manifest = this.#issue([...members, joiner]);
    const to = [...members, joiner].map((it) => it.noise_pub).filter((key) => key !== this.me.noise_pub);
    this.#core.commit({ op: "manifestChanged", manifest, message: this.#outbox.compose("manifest", manifest, to) });
    this.#window = null;
    if (founds) this.#announce("created");
    this.#core.event({ case: "membersChanged", members: this.members() });
    this.#outbox.pump();
  }

  join(pairingToken) {
    if (!["notJoined", "pendingJoin"].includes(this.status)) throw new ApiError("alreadyInGroup");
    const token = parseExactly(pairingToken, TOKEN_FIELDS);
    const { noise_pub, signing_pub } = this.#core.state.identity;
    if (token === null || token.signing_pub === signing_pub) throw new ApiError("invalidPairingToken");
    const body = toBody({ noise_pub, signing_pub, proof: proof(token.secret, noise_pub, signing_pub) });
    const message = this.#outbox.compose("pair", body, [token.noise_pub]);
    const changes = this.status !== "pendingJoin";
    this.#core.commit({ op: "joinBegun", token, message });
    this.#window = null;
    if (changes) this.#announce(null);
    this.#outbox.pump();
  }

  cancelJoin() {
    if (this.status !== "pendingJoin") return;
    this.#core.commit({ op: "joinCancelled" });
    this.#announce(null);
  }

  remove(id) {
    this.demandMember();
    const gone = this.#others().find((it) => memberId(it.signing_pub) === id);
    if (!gone) throw new ApiError("memberNotFound");
    const to = this.recipients(); // the removed one as well: it has to learn of it
    const manifest = this.#issue(this.#current().members.filter((it) => it.signing_pub !== gone.signing_pub));
    this.#core.commit({ op: "manifestChanged", manifest, message: this.#outbox.compose("manifest", manifest, to) });
    this.#core.event({ case: "membersChanged", members: this.members() });
    this.#outbox.pump();
  }

  leave() {
    this.demandMember();
    const to = this.recipients();
    const body = this.#issue(this.#others());
    this.#core.commit({ op: "leaving", message: this.#outbox.compose("leave", body, to) });
    this.#window = null;
    this.#announce(null);
    this.#outbox.pump();
    this.finishFarewell();
  }

  /** Ends the group for everybody. A Leave that is under way gives way to it; what is being destroyed stays so. */
  destroyGroup() {
    if (this.status === "destroying") return;
    if (this.status !== "leaving") this.demandMember();
    this.#beginDestroying(this.recipients())();
  }

  /** A device that is leaving or destroying starts afresh once the relay has taken all it had to say. */
  finishFarewell() {
    const [kind, reason] = { leaving: ["leave", "left"], destroying: ["revoke", "destroyed"] }[this.status] ?? [];
    if (!kind || [...this.#core.state.outbox.values()].some((entry) => entry.kind === kind)) return;
    this.#wipe(reason);
    this.onWiped();
  }

  // -- control messages -------------------------------------------------------------------------------------

  /** Does what a control message says, durably, and returns what becomes of its Blob. */
  take(sealed) {
    if (sealed.tag === TAG.pair) return this.#takePair(sealed);
    if (sealed.tag === TAG.revoke) return this.#takeRevoke(sealed);
    return this.#takeManifest(sealed);
  }

  #takePair({ author_pub, body }) {
    const pair = fromBody(body, PAIR_FIELDS);
    if (pair === null) return MALFORMED;
    const { noise_pub, signing_pub } = pair;
    const counts = this.#window !== null && author_pub === signing_pub
      && pair.proof === proof(this.#window.secret, noise_pub, signing_pub);
    if (!counts) return UNAUTHORIZED;
    const same = (it) => it.noise_pub === noise_pub && it.signing_pub === signing_pub;
    if ([...this.#window.requests.values(), ...(this.#current()?.members ?? [])].some(same)) return DONE;
    const request = { id: "request-" + randomBytes(6).toString("hex"), name: "device " + signing_pub.slice(0, 8) };
    this.#window.requests.set(request.id, { noise_pub, signing_pub, name: request.name });
    this.#core.event({ case: "joinRequest", request });
    return DONE;
  }

  #takeRevoke({ author_pub, body }) {
    if (body !== "") return MALFORMED;
    const known = this.#core.state.manifests.some((it) => hasSigner(readManifest(it), author_pub));
    if (!known) return UNAUTHORIZED;
    if (!["member", "leaving"].includes(this.status)) return DONE;
    // The ack has to leave before a wipe ends the session, which is at once if there is nobody to tell.
    const to = this.#others().filter((it) => it.signing_pub !== author_pub).map((it) => it.noise_pub);
    return { drop: null, then: this.#beginDestroying(to) };
  }

  #takeManifest({ author_pub, body }) {
    const manifest = readManifest(body);
    if (manifest === null) return MALFORMED;
    if (!this.#signatureVerifies(manifest) || manifest.members.length > GROUP_SIZE) return UNAUTHORIZED;
    if (this.status === "pendingJoin") return this.#takeFirst(manifest, author_pub, body);
    const current = this.#current();
    if (current === null) return UNAUTHORIZED;
    if (this.#core.state.manifests.includes(body)) return DONE;
    const earnsPlace = manifest.group_id === current.group_id && hasSigner(current, manifest.issued_by)
      && hasSigner(current, author_pub) && isGreater(manifest, current);
    if (!earnsPlace) return UNAUTHORIZED;
    if (this.status === "destroying") return DONE;
    return this.#removes(manifest) ? this.#removed() : this.#adopt(body);
  }

  #takeFirst(manifest, authorPub, body) {
    const inviter = this.#core.state.pendingJoin.signing_pub;
    const invites = manifest.issued_by === inviter && authorPub === inviter
      && manifest.members.some((it) => it.signing_pub === this.me.signing_pub && it.noise_pub === this.me.noise_pub);
    if (!invites) return UNAUTHORIZED;
    this.#core.commit({ op: "joined", manifest: body });
    this.#announce("joined");
    this.#core.event({ case: "membersChanged", members: this.members() });
    return DONE;
  }

  #adopt(body) {
    this.#core.commit({ op: "manifestChanged", manifest: body });
    this.#core.event({ case: "membersChanged", members: this.members() });
    return DONE;
  }

  /** Only a manifest made from one with this device in it removes it. Others knew nothing of it, and it stays. */
  #removes(manifest) {
    const parent = this.#core.state.manifests.find((it) => hashOf(it) === manifest.parent);
    const { signing_pub } = this.me;
    return !hasSigner(manifest, signing_pub) && parent !== undefined && hasSigner(readManifest(parent), signing_pub);
  }

  #removed() {
    this.#wipe("removed");
    return { drop: null, then: this.onWiped };
  }

  // -- what both have in common -----------------------------------------------------------------------------

  #beginDestroying(to) {
    this.#core.commit({ op: "destroying", message: this.#outbox.compose("revoke", "", to) });
    this.#window = null;
    this.#announce(null);
    return () => {
      this.#outbox.pump();
      this.finishFarewell();
    };
  }

  #wipe(reason) {
    this.#core.commit({ op: "wiped", identity: newIdentity(this.#core.state.identity.name) });
    this.#window = null;
    this.#announce(reason);
  }

  #announce(reason) {
    this.#core.event({ case: "statusChanged", status: this.status, reason });
  }

  #current() {
    return readManifest(this.#core.state.manifests.at(-1) ?? "");
  }

  #others() {
    return (this.#current()?.members ?? []).filter((it) => it.signing_pub !== this.#core.state.identity.signing_pub);
  }

  #issue(members) {
    const last = this.#core.state.manifests.at(-1);
    const current = this.#current();
    return toBody({
      group_id: current?.group_id ?? randomBytes(16).toString("hex"),
      version: String(current ? BigInt(current.version) + 1n : 1n),
      parent: last ? hashOf(last) : "",
      members: members.map(({ noise_pub, signing_pub, name }) => ({ noise_pub, signing_pub, name })),
      issued_by: this.me.signing_pub,
      signature: manifestSignature(this.me.signing_pub, this.#core.version),
    });
  }

  #signatureVerifies({ issued_by, signature }) {
    return signature === manifestSignature(issued_by, this.#core.version);
  }

  /**
   * After an upgrade: builds the manifests that still wait in the outbox anew, because their signature binds the
   * End-to-End Version. A new signature is a new hash, which the next one in the chain names as its parent.
   */
  rebuildQueued() {
    const queued = [...this.#core.state.outbox.values()].filter(({ kind }) => kind === "manifest" || kind === "leave");
    const newHashes = {};
    const bodies = [];
    for (const { body } of queued) {
      const { hash, ...fields } = readManifest(body);
      const parent = newHashes[fields.parent] ?? fields.parent;
      const rebuilt = toBody({ ...fields, parent, signature: manifestSignature(fields.issued_by, this.#core.version) });
      if (rebuilt === body) continue;
      newHashes[hash] = hashOf(rebuilt);
      bodies.push([body, rebuilt]);
    }
    if (bodies.length > 0) this.#core.commit({ op: "manifestsRebuilt", bodies });
  }
}

function manifestSignature(issuedBy, version) {
  return `plain:${issuedBy}:${version}`;
}

/** Ids are opaque to the app; they say nothing of the key to whom does not know it. */
function memberId(signingPub) {
  return "m." + createHash("sha256").update("member " + signingPub).digest("base64url").slice(0, 20);
}

function proof(secret, noisePub, signingPub) {
  return ["plain", secret, noisePub, signingPub].join(":");
}

function hashOf(body) {
  return createHash("sha256").update(Buffer.from(body, "base64")).digest("hex");
}

function isGreater(manifest, current) {
  const rise = BigInt(manifest.version) - BigInt(current.version);
  return rise === 0n ? manifest.hash < current.hash : rise > 0n && rise <= VERSION_LEAP;
}

function hasSigner(manifest, signingPub) {
  return manifest.members.some((it) => it.signing_pub === signingPub);
}

function allDiffer(members) {
  return ["noise_pub", "signing_pub"].every((key) => new Set(members.map((it) => it[key])).size === members.length);
}

const manifestsRead = new Map();

/** The fields of a manifest and its hash, or null if the bytes are none. Reading is pure, so the last few are kept. */
function readManifest(body) {
  if (manifestsRead.has(body)) return manifestsRead.get(body);
  const fields = fromBody(body, MANIFEST_FIELDS);
  const manifest = fields && { ...fields, hash: hashOf(body) };
  if (manifestsRead.size >= 64) manifestsRead.clear();
  manifestsRead.set(body, manifest);
  return manifest;
}

function toBody(value) {
  return Buffer.from(JSON.stringify(value)).toString("base64");
}

function fromBody(body, checks) {
  return parseExactly(Buffer.from(body, "base64").toString("utf8"), checks);
}

function parseExactly(text, checks) {
  try {
    const value = JSON.parse(text);
    return isObject(value) && hasExactly(value, checks) ? value : null;
  } catch {
    return null;
  }
}
