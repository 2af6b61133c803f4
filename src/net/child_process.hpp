// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A helper program beside ours: started, watched, and ended when we end.
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

    /// Looks the program up on PATH; its standard output goes to `output_path`. Empty, or what went
    /// wrong.
    std::string start(const std::vector<std::string>& arguments, const std::string& output_path);
    /// Waits at most so long, then ends it. Its exit code, or -1.
    int wait(int milliseconds);

  private:
    int process_ = -1;
};

/// A new directory for files that live as long as the program does; empty: there is no room.
std::string make_temporary_directory();
bool write_file(const std::string& path, std::string_view bytes);
void remove_directory(const std::string& path);

}  // namespace purview::net
