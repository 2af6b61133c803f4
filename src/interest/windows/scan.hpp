// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Brings windows up to date: finds the cells, remaps bits, evaluates, compares. Differences go to
// ScanScratch::toggles.
#pragma once

#include "interest/rules/evaluate.hpp"
#include "interest/windows/window.hpp"

namespace purview {

/// Brings the whole window up to date.
void scan(const ScanInput& input, Window& window, ScanScratch& scratch);

/// The same for an observer that did not change itself: only dirty blocks are evaluated.
void rescan_dirty(const ScanInput& input, Window& window, ScanScratch& scratch);

/// The same while all enters wait: evaluates only blocks in which something is shown, in the cells
/// that the window was made for.
void rescan_shown(const ScanInput& input, Window& window, ScanScratch& scratch);

}  // namespace purview
