// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The operator channel as docs/operator.md has it.

/** A node of the rules, as the server tells it and takes it. */
export interface RuleNode {
  name: string;
  /** "add within 60 leave 66" and the like, in order. */
  steps: string[];
  type?: string;
  members?: string;
  combine?: string;
  refresh?: string;
  /** How observers are told: docs/shared.md. */
  mode?: string;
  widen_m?: number;
  lazy_leave?: boolean;
  /** Default true. */
  enabled?: boolean;
  urgency?: number;
  every_ticks?: number;
  /** What becomes of the copy of an entity that leaves. */
  leave?: string;
}

export interface Rules {
  op: "rules";
  /** Grows with every change, whoever makes it. */
  revision: number;
  /** False: set_rules is refused. */
  editable?: boolean;
  nodes: RuleNode[];
  warnings: string[];
  /** What steps may name. */
  names: { flags: string[]; keys: string[]; values: string[]; kernels?: string[]; sight?: boolean };
}

export interface Trial {
  op: "try_rules";
  /** Pairs of all observers. */
  gains: number;
  losses: number;
  /** Those with the most of both; who is missing has few or none. */
  observers: { observer: number; gains: number; losses: number }[];
  /** Ready clients, the first by index; the others were left out, as too much would change to ask all of them. */
  asked: number;
  left_out: number;
  /** Of the observers asked: relevant entities of each, in all, by the rules that run, and by these. */
  pairs_now: number;
  pairs_then: number;
  warnings: string[];
}

export interface Refusal {
  op: "error";
  text: string;
  /** The request that is refused. */
  about?: string;
  /** The rules were not made from the revision that runs, which is this. */
  revision?: number;
  /** Where in the rules it is: indices, and a column from 1 on in the text of the step. */
  node?: number;
  /** Of the node, such as "refresh". */
  key?: string;
  step?: number;
  column?: number;
}

export interface EntityAt {
  /** Decimal: 64 bits do not fit a number. */
  entity: string;
  index: number;
  /** Name of its kind. */
  kind: string;
  x: number;
  y: number;
  /** Whose main entity it is. */
  observer: number | null;
}

export interface Explanation {
  op: "explain";
  tick: number;
  observer: number;
  entity_text: string;
  index: number;
  relevant: boolean;
  /** Index of the root that was judged for the entity. */
  unit: number;
  /** No node says yes any more: the minimum stay is not over. */
  held: boolean;
  /** What decided, such as "owned" or "a node says yes". */
  stage: string;
  /** Index of the member of its group that is hidden by hand, and hides it. */
  hidden_member: number | null;
  /** Index of the split member below it that nodes show; stage is "promoted". */
  promoted_by: number | null;
  nodes: {
    name: string;
    /** False: the node is not about this entity, and its result is false. */
    member: boolean;
    /** With what the nodes before it say. */
    combine: "add" | "subtract" | "require";
    result: boolean;
    /** `answer` null: it cannot say. `so_far`: the node's result behind this step. */
    steps: { op: "add" | "subtract" | "require"; what: string; answer: boolean | null; so_far: boolean }[];
  }[];
  /** Of the nodes that want the pair the most generous, and the name of the first node that has each. */
  settings: {
    every_ticks: number; every_ticks_by: string; urgency: number; urgency_by: string; leave: string; leave_by: string;
  };
  /** False: nothing is known of what would turn the answer. */
  knows_changes: boolean;
  /** Nodes that wait are about to be asked, or a stay or an area ends. */
  turns_by_itself: boolean;
  /** Each of them alone would turn the answer. */
  single: string[];
  /** Or these two together. */
  pair: string[];
  text: string;
}

export interface ServerStats {
  op: "stats";
  tick: number;
  entities: number;
  enters: number;
  leaves: number;
  bytes_sent: number;
  bytes_received: number;
  drops: number;
  rules_revision: number;
  sessions: {
    observer: number; role: "player" | "spectator"; carrier: "udp" | "websocket"; relevant: number; backlog: number;
    bytes_sent: number; bytes_received: number; packets_lost: number; rtt_us: number; enters: number; leaves: number;
    budget_bytes_per_tick: number;
  }[];
}

export interface TruthFrame {
  tick: number;
  count: number;
  /** Three words an entity: x, y, then kind and flags of 16 bits each. The same memory twice. */
  floats: Float32Array;
  words: Uint16Array;
}

export interface HeldReport { op: "held"; packet: number; tick: number; relevant: number; backlog: number; leaves: number }

export class OperatorChannel {
  constructor(url: string);
  readonly isOpen: boolean;
  on(name: "open" | "closed", listener: () => void): () => void;
  on(name: "truth", listener: (frame: TruthFrame) => void): () => void;
  on(name: "held", listener: (report: HeldReport) => void): () => void;
  on(name: "rules", listener: (rules: Rules) => void): () => void;
  open(): Promise<void>;
  close(): void;
  ask(request: { op: "stats" }): Promise<ServerStats | Refusal>;
  ask(request: { op: "find"; nonce: string }): Promise<{ op: "found"; observer: number | null } | Refusal>;
  ask(request: { op: "rules" }): Promise<Rules | Refusal>;
  /** With a `revision`, from which they were made, they are refused when another one runs; without `force` where they make too much relevant. */
  ask(request: { op: "set_rules"; nodes: RuleNode[]; revision?: number; force?: boolean }): Promise<Rules | Refusal>;
  ask(request: { op: "try_rules"; nodes: RuleNode[]; observer?: number | null }): Promise<Trial | Refusal>;
  ask(request: { op: "members"; node: string }): Promise<{ op: "members"; node: string; count: number; entities: { entity: string; index: number; kind: string }[] } | Refusal>;
  ask(request: { op: "at"; x: number; y: number; radius_m: number }): Promise<{ op: "at"; entities: EntityAt[] } | Refusal>;
  ask(request: { op: "explain"; observer: number; entity: string | number }): Promise<Explanation | Refusal>;
  tell(request: { op: "held"; observer: number } | { op: "truth"; on: boolean; rect: [number, number, number, number] }): void;
}
