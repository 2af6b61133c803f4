// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
import type { OperatorChannel, RuleNode, Rules, Trial } from "./operator.mjs";

export interface DraftStep { text: string; on: boolean }
export interface DraftNode extends Omit<RuleNode, "steps"> { enabled: boolean; steps: DraftStep[] }

export class RuleDraft {
  constructor(channel: OperatorChannel);
  /** The current rules, as last received from the server; null if there is no channel. */
  readonly running: Rules | null;
  /** The edited nodes. Read-only; use the functions below to change them. */
  readonly nodes: readonly DraftNode[];
  /** Whether sliders and switches apply immediately; the default. */
  live: boolean;
  /** The observer that a dry run reports in detail. */
  watched: number | null;
  /** `isAnswer` false: no reply from the server, so the sent rules may or may not be in force. */
  readonly error: { text: string; isAnswer: boolean; column: number; node: DraftNode | null; step: DraftStep | null } | null;
  readonly trial: Trial | null;
  /**
   * "shown": rules of another operator are displayed; "waiting": local edits differ from them and wait for apply().
   */
  readonly elsewhere: "" | "shown" | "waiting";
  readonly isPending: boolean;
  readonly canRevert: boolean;
  /** Whether the server accepts only dry runs from operators. */
  readonly isReadOnly: boolean;
  readonly isSending: boolean;
  onChange(listener: () => void): () => void;
  setText(step: DraftStep, text: string): void;
  slide(step: DraftStep, text: string): void;
  switchStep(step: DraftStep, on: boolean): void;
  switchNode(node: DraftNode, enabled: boolean): void;
  moveStep(node: DraftNode, step: DraftStep, by: -1 | 1): boolean;
  addStep(node: DraftNode): DraftStep;
  removeStep(node: DraftNode, step: DraftStep): void;
  restoreText(step: DraftStep): void;
  apply(): Promise<void>;
  revert(): Promise<void>;
  takeRunning(): void;
  tryOut(): Promise<void>;
}
