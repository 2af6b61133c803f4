// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#pragma once

#include <string>

#include "purview/log.hpp"

namespace purview {

void write_log(const LogSink& sink, LogLevel level, const std::string& text);

/// Logs why a definition is refused. If the caller then takes the value of the failed Result on
/// this thread, the message is repeated before the abort.
void log_refusal(const LogSink& sink, const std::string& text);

}  // namespace purview
