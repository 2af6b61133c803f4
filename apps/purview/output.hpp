// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Reports, where they are asked for: a file, or "-" for standard output. All of it, or an error.
#pragma once

#include <spdlog/spdlog.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace purview::app {

/// False: it could not be written, and an error was logged.
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

/// Asked before a run, whose figures would be lost; true where there is no path. What is there
/// stays, and what is not is not made. False: an error was logged.
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
