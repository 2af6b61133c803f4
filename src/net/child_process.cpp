// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "net/child_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

extern char** environ;

namespace purview::net {

ChildProcess::~ChildProcess() {
    (void)wait(0);
}

std::string ChildProcess::start(const std::vector<std::string>& arguments,
                                const std::string& output_path) {
    std::vector<char*> pointers;
    pointers.reserve(arguments.size() + 1);
    for (const std::string& argument : arguments)
        pointers.push_back(const_cast<char*>(argument.c_str()));
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output_path.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int result =
        posix_spawnp(&process_, arguments[0].c_str(), &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (result == 0) return {};
    process_ = -1;
    return arguments[0] + ": " + std::strerror(result);
}

int ChildProcess::wait(int milliseconds) {
    if (process_ < 0) return -1;
    int status = 0;
    for (int waited = 0;; waited += 10) {
        if (::waitpid(process_, &status, WNOHANG) == process_) break;
        if (waited >= milliseconds) {
            ::kill(process_, SIGTERM);
            ::usleep(100'000);
            if (::waitpid(process_, &status, WNOHANG) != process_) {
                ::kill(process_, SIGKILL);
                ::waitpid(process_, &status, 0);
            }
            break;
        }
        ::usleep(10'000);
    }
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string make_temporary_directory() {
    std::error_code error;
    const auto where = std::filesystem::temp_directory_path(error);
    if (error) return {};
    std::string path = (where / "purview-XXXXXX").string();
    return ::mkdtemp(path.data()) == nullptr ? std::string() : path;
}

bool write_file(const std::string& path, std::string_view bytes) {
    std::ofstream out(path, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return out.good();
}

void remove_directory(const std::string& path) {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
}

}  // namespace purview::net
