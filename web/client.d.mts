// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

export type FieldType = "number" | "text" | "rotation" | "reference";
export type ClientState = "connecting" | "joining" | "joined" | "refused" | "closed";
export type RefuseReason =
  "none" | "version" | "schema" | "full" | "address_limit" | "expired" | "join" | "shutting_down";
export type CloseReason =
  "none" | "left" | "timeout" | "malformed" | "kicked" | "shutting_down" | "never_joined" | "lost";
export type Reason =
  "entered" | "spawned" | "owned" | "forced" | "left" | "hidden" | "despawned" | "disconnected" | "promoted";

export const REASONS: readonly Reason[];
/** Words of 32 bits in one instance of `collect()`. */
export const INSTANCE_WORDS: 8;
/** Offsets into an instance, in words. x, y, z are floats, the others unsigned integers. */
export const INSTANCE: Readonly<{
  x: 0; y: 1; z: 2; ghost: 3; kind: 4; parent: 5; owned: 6; updated: 7;
}>;
/** `parent` of a ghost without one. */
export const NO_GHOST: 0xffffffff;
/** `cellOf` of what is in none. */
export const NO_CELL: 0xffffffff;

/** Compiles the module once: an address, a response or the bytes. */
export function loadPurview(source?: string | URL | Response | ArrayBuffer | Uint8Array): Promise<WebAssembly.Module>;

export interface ClientOptions {
  /** Such as "ws://127.0.0.1:7780/play". */
  url: string;
  /** Default "player". */
  role?: "player" | "spectator";
  /** What the game is told of us when we ask to join (JoinRequest::name): 32 bytes of UTF-8, the rest is cut. */
  name?: string;
  /** What the game may let us in for (JoinRequest::credential): 512 bytes, a RangeError beyond. A text goes as UTF-8. */
  credential?: string | ArrayBufferView | ArrayBuffer;
  /** Send a digest of the whole state with every n-th packet, so that the server can check us; 0: never. */
  digestEvery?: number;
  /**
   * Between two turns: commands and acknowledgements go out; default 50. Where timers are late, as in a page in
   * the background, a packet that arrives makes the turn that is due.
   */
  turnMs?: number;
  /** For platforms without a global one. */
  WebSocket?: unknown;
}

/** A ghost that came or went. */
export interface GhostEvent {
  ghost: number;
  /** Index into `schema.kinds`. */
  kind: number;
  /** Why it came, or came back; or why it left. */
  reason: Reason;
  /** What became of our copy. */
  copy: "made" | "removed" | "kept" | "resumed" | "dropped";
}

/** A ghost whose parent or root is another now; NO_GHOST for none. A root is its own root. */
export interface RelationEvent {
  ghost: number;
  oldRoot: number;
  newRoot: number;
  oldParent: number;
  newParent: number;
}

/** A ghost that is not as it was after the datagram before. One that came stands there with all that it is told. */
export interface ChangeEvent {
  ghost: number;
  /** Indices into `schema.components`: some value of it, or whether it is told. */
  components: number[];
  /** It may be ours since, or not any more, or is new: see `owned` of `INSTANCE`. */
  ownerChanged: boolean;
}

/** Of a call: a number, a text, or a rotation as x, y, z, w. */
export type Argument = number | string | [number, number, number, number];

/** A call of the server, after the property changes that came with it. */
export interface RemoteCall {
  /** Of `schema.calls`. */
  name: string;
  /** What it is about, or NO_GHOST. */
  ghost: number;
  /** It came in time, but the ghost has gone since: `ghost` names none. */
  ghostLeft: boolean;
  /** Arguments by name. */
  values: Record<string, Argument>;
}

export interface Instances {
  count: number;
  /** The same memory, seen as floats and as unsigned words. Valid until the next call of anything. */
  floats: Float32Array;
  words: Uint32Array;
}

export interface ClientStats {
  bytesSent: number;
  bytesReceived: number;
  packetsReceived: number;
  packetsLate: number;
  packetsMalformed: number;
  packetsLost: number;
  orderViolations: number;
  /** Smoothed; 0: not known yet. */
  rttMs: number;
}

export class PurviewClient {
  constructor(module: WebAssembly.Module, options: ClientOptions);
  /** Random name of the connection, 16 hexadecimal digits; of the last `connect`, undefined before it. */
  nonce: string | undefined;
  /**
   * A listener that throws keeps nothing from the others; its error is reported as an uncaught one. Who is added while
   * an event is told hears the next one, and who has ended is not called any more.
   */
  on(name: "state", listener: (state: ClientState) => void): () => void;
  /** "drop": a copy that was kept ends. What has left can be read as it was last while this is told. */
  on(name: "enter" | "leave" | "drop", listener: (event: GhostEvent) => void): () => void;
  /** Attached, broken off, moved, or its group was; after what came and went with the same packet. */
  on(name: "relation", listener: (event: RelationEvent) => void): () => void;
  /** Once for each such ghost and datagram (of those before "joined" once), after all that came and went with it. Costs little without listeners. */
  on(name: "change", listener: (event: ChangeEvent) => void): () => void;
  /** Once for each connection: all that was relevant when the observer was first ready has been told. */
  on(name: "viewComplete", listener: () => void): () => void;
  on(name: "call", listener: (call: RemoteCall) => void): () => void;
  /** What the server's game has sent with `Server::send_message`, in order. */
  on(name: "message", listener: (bytes: Uint8Array) => void): () => void;
  /** Before what is due is sent. */
  on(name: "turn", listener: () => void): () => void;
  /**
   * A new connection with an empty world. Void once `leave` or another `connect` is called: only the last one counts.
   * It is done when the socket begins to open, also towards a server that is not there: wait for the state "joined".
   * Rejects where the module or the socket cannot be made; then the state is "closed".
   */
  connect(): Promise<void>;
  /**
   * Ends the connection, or a `connect` that is under way. Nothing that came is told any more, and what was sent or called
   * since the last turn or so may be lost: where it matters, let the game answer it, and leave then.
   */
  leave(): void;
  readonly state: ClientState;
  /** For a module with functions of its own beside those of purview.h. `exports`: undefined before the first `connect`. */
  readonly native: { exports: WebAssembly.Exports | undefined; handle: number };
  readonly refuseReason: RefuseReason;
  /** "lost": the socket could not be made, or ended without a word of the server. */
  readonly closeReason: CloseReason;
  /** What the server's game said why it refused us or closed, cut to 120 bytes of UTF-8; "": nothing. */
  readonly reasonText: string;
  readonly tickHz: number;
  /** Of the newest snapshot. Where nothing happens there may be none for 256 ticks: see `viewTick`. */
  readonly newestTick: number;
  readonly newestPacket: number;
  readonly ghostCount: number;
  readonly worldName: string;
  readonly schema: {
    kinds: string[];
    /** `types`: of the fields; `value` reads numbers, `text` texts and so on. */
    components: { name: string; fields: string[]; types: FieldType[] }[];
    /** `types`: of the arguments. `callers`: of calls to the server; "owner" is whoever owns the ghost. */
    calls: {
      name: string; toServer: boolean; aboutGhost: boolean; callers: "anybody" | "owner" | "players";
      arguments: string[]; types: Exclude<FieldType, "reference">[];
    }[];
  };
  readonly stats: ClientStats;
  /**
   * The server's tick to draw at `now`: `behind` (2) ticks behind where the server is, as far as the arrival of
   * snapshots tells. It goes on evenly between them, also where nothing happens and none come, which may be so for 256
   * ticks. `now`: of performance.now(), or what requestAnimationFrame hands out. A countdown counts by viewTick(now, 0).
   * `-behind` before the server has told its rate.
   */
  viewTick(now?: number, behind?: number): number;
  /** All ghosts as of a server tick that may lie between two. */
  collect(tick: number): Instances;
  /**
   * A field by its names, as its type is: a number, a text, a rotation, or the ghost that a reference names. Where the
   * ghost is not held or has no such component: 0, "", not turned, NO_GHOST. A RangeError for names that this world does
   * not have. What can be no ghost (undefined, null, a text) is read as one that is not held, here and below.
   */
  get(ghost: number, component: string, field: string): number | string | [number, number, number, number];
  /** By the numbers of `schema`; so the next three. What can be no number of it is a RangeError. */
  value(ghost: number, component: number, field: number): number;
  text(ghost: number, component: number, field: number): string;
  /** x, y, z, w. */
  rotation(ghost: number, component: number, field: number): [number, number, number, number];
  /** How it was turned at a tick, in the world: x, y, z, w. */
  orientation(ghost: number, tick: number): [number, number, number, number];
  /** The ghost that is named, or NO_GHOST. */
  reference(ghost: number, component: number, field: number): number;
  /** Of its group, itself for a root, or NO_GHOST. */
  rootOf(ghost: number): number;
  isOwned(ghost: number): boolean;
  /** Index into schema.kinds; -1: not held. */
  kindOf(ghost: number): number;
  /** NO_GHOST for a root, or one that is not held. */
  parentOf(ghost: number): number;
  /** x, y, z at a tick that may lie between two; zeros for one of which nothing is known. */
  place(ghost: number, tick: number): [number, number, number];
  readonly cellGridCount: number;
  /** The same number as on the server, or NO_CELL. `grid`: default 0. */
  cellOf(ghost: number, grid?: number): number;
  isTold(ghost: number, component: number): boolean;
  keptAs(ghost: number): "despawn" | "freeze" | "stale" | "deactivate";
  readonly isViewComplete: boolean;
  sendCommand(bytes: ArrayBufferView | ArrayBuffer): boolean;
  /**
   * A message to the game (`Game::message`), reliable and in order: bytes, or a text, which goes as UTF-8. False: not now
   * (not joined, or too much waits). Throws a RangeError for what can never be: no bytes, or more than 65,534.
   */
  sendMessage(message: ArrayBufferView | ArrayBuffer | string): boolean;
  /**
   * Calls the server; see `schema.calls`. `ghost` only for a call that is about one. False: not now (not joined, the
   * ghost has gone or is not ours, too many calls wait). Throws a RangeError for what can never be: a call or an
   * argument that this world does not have, what can be no ghost for a call about one, a call for players by a
   * spectator, no number where one belongs, no four in a rotation; nothing of it is kept then. Numbers are clamped to the
   * range of the schema, and of booleans 1 or 0; texts are cut at the size of their field, 31 bytes at most.
   */
  call(name: string, values?: Record<string, Argument | boolean | undefined>, ghost?: number): boolean;
}
