// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Brings windows up to date: where to look, carry, evaluate, compare. Differences go to
// ScanScratch::toggles.
#pragma once

#include "interest/rules/evaluate.hpp"
#include "interest/windows/window.hpp"

namespace purview {

/// Brings the whole window up to date.
void scan(const ScanInput& input, Window& window, ScanScratch& scratch);

/// The same for an observer of which nothing changed but its blocks: only dirty blocks are looked
/// at.
void rescan_dirty(const ScanInput& input, Window& window, ScanScratch& scratch);

/// The same while all enters wait: only blocks are looked at in which somebody is shown, in the
/// cells that the window was made for.
void rescan_shown(const ScanInput& input, Window& window, ScanScratch& scratch);

}  // namespace purview
