// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Writes reports to a file, or to standard output for "-". Writes all of a report or logs an error.
#pragma once

#include <spdlog/spdlog.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace purview::app {

/// Returns false and logs an error if the text could not be written.
inline bool write_out(const std::string& text, const std::string& path = "-") {
    bool good = false;
    if (path == "-") {
        good = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
               std::fflush(stdout) == 0;
    } else {
        std::ofstream out(path);
        out << text << std::flush;
        good = out.good();
    }
    if (!good) spdlog::error("cannot write {}", path == "-" ? "to standard output" : path);
    return good;
}

/// Checks before a run that its report can be written. Returns true for an empty path. Does not
/// change an existing file and does not leave a new one. Returns false after logging an error.
inline bool can_write_out(const std::string& path) {
    std::error_code error;
    if (path.empty() || path == "-" || std::filesystem::is_fifo(path, error)) return true;
    const bool is_new = !std::filesystem::exists(path, error);
    const bool good = std::ofstream(path, std::ios::app).good();
    if (!good) spdlog::error("cannot write {}", path);
    if (good && is_new) std::filesystem::remove(path, error);
    return good;
}

}  // namespace purview::app
