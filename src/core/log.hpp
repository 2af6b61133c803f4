// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#pragma once

#include <string>

#include "purview/log.hpp"

namespace purview {

void write_log(const LogSink& sink, LogLevel level, const std::string& text);

/// Writes why a definition is refused. A Result whose value is taken all the same on this thread
/// repeats it before it aborts.
void log_refusal(const LogSink& sink, const std::string& text);

}  // namespace purview
