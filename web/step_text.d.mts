// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
import type { RuleNode } from "./operator.mjs";

export interface StepNumber {
  /** "radius", "margin", "rings", or the word before the number. */
  label: string;
  /** "m" or "". */
  unit: string;
  /** Only whole numbers are valid. */
  whole: boolean;
  /** Minimum. */
  least: number;
  value: number;
  /** Returns the whole text with this number replaced. */
  textWith(value: number): string;
}

export function opOf(text: string): "add" | "subtract" | "require" | "";
/** A number without insignificant digits. */
export function written(value: number, digits?: number): string;
export function numbersOf(text: string): StepNumber[];
/** The radii of an add step with a range; null for others. */
export function circleOf(text: string): { enter: number; leave: number } | null;
/** The circles of enabled nodes that add. */
export function circlesOf(nodes: readonly RuleNode[]): { enter: number; leave: number }[];
/** Range of a slider for the number. */
export function rangeFor(number: Pick<StepNumber, "value" | "whole" | "least">): { min: number; max: number; step: number };
