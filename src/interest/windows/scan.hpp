// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Updates windows: finds the cells, remaps bits, evaluates, compares. Writes the differences to
// ScanScratch::toggles.
#pragma once

#include "interest/rules/evaluate.hpp"
#include "interest/windows/window.hpp"

namespace purview {

/// Updates the whole window.
void scan(const ScanInput& input, Window& window, ScanScratch& scratch);

/// Updates the window of an observer that did not change: evaluates dirty blocks only.
void rescan_dirty(const ScanInput& input, Window& window, ScanScratch& scratch);

/// Updates a window while all enters wait: evaluates only blocks with relevant entities, in the
/// cells that the window already covers.
void rescan_shown(const ScanInput& input, Window& window, ScanScratch& scratch);

}  // namespace purview
