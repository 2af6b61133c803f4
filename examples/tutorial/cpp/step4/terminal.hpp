// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#pragma once

#include <poll.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

// Returns the next line that was typed, or nothing.
inline std::optional<std::string> typed_line() {
    static std::string line;
    pollfd keyboard{STDIN_FILENO, POLLIN, 0};
    char letter;
    while (poll(&keyboard, 1, 0) > 0 && read(STDIN_FILENO, &letter, 1) == 1) {
        if (letter == '\n') return std::exchange(line, {});
        line += letter;
    }
    return {};
}
