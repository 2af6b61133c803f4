// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A child process that ends together with the program.
#pragma once

#include <string>
#include <vector>

namespace purview::net {

class ChildProcess {
  public:
    ChildProcess() = default;
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;
    ~ChildProcess();

    /// Starts a program found on PATH; its standard output goes to `output_path`. Returns an error
    /// text, or an empty string.
    std::string start(const std::vector<std::string>& arguments, const std::string& output_path);
    /// Waits for at most this time for the process to end, then kills it. Returns its exit code, or
    /// -1.
    int wait(int milliseconds);

  private:
    int process_ = -1;
};

/// Creates a directory for temporary files. Returns an empty string on failure.
std::string make_temporary_directory();
bool write_file(const std::string& path, std::string_view bytes);
void remove_directory(const std::string& path);

}  // namespace purview::net
