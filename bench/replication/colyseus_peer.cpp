// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/colyseus_peer.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "net/child_process.hpp"

extern char** environ;

namespace purview::bench {

using nlohmann::json;

ColyseusPeer::~ColyseusPeer() {
    if (to_ != nullptr) std::fclose(to_);  // end of input ends the process
    if (from_ != nullptr) std::fclose(from_);
    if (process_ > 0) ::waitpid(process_, nullptr, 0);
    net::remove_directory(directory_);
}

std::string ColyseusPeer::start(const std::string& script, const ListWorkload& workload) {
    directory_ = net::make_temporary_directory();
    const std::string path = directory_ + "/workload";
    if (directory_.empty() || !workload.write(path)) return "cannot write its workload";
    std::signal(SIGPIPE, SIG_IGN);  // a peer that ended is detected by its missing reply
    int in[2], out[2];
    if (::pipe2(in, O_CLOEXEC) != 0) return "cannot create a pipe";
    if (::pipe2(out, O_CLOEXEC) != 0) return "cannot create a pipe";
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    std::string node = "node", script_copy = script, path_copy = path;
    char* arguments[] = {node.data(), script_copy.data(), path_copy.data(), nullptr};
    const int result = posix_spawnp(&process_, "node", &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    to_ = ::fdopen(in[1], "w");
    from_ = ::fdopen(out[0], "r");
    if (result != 0) {
        process_ = -1;
        return std::string("node: ") + std::strerror(result);
    }
    std::string line;
    if (!read_line(line)) return "the process ended at its start";
    const json answer = json::parse(line, nullptr, false);
    if (!answer.is_object() || !answer.value("ready", false))
        return "the process did not report that it is ready";
    version_ = answer.value("node", "");
    return "";
}

bool ColyseusPeer::read_line(std::string& line) {
    line.clear();
    for (int c = std::fgetc(from_); c != EOF; c = std::fgetc(from_)) {
        if (c == '\n') return true;
        line.push_back(static_cast<char>(c));
    }
    return false;
}

bool ColyseusPeer::run(std::uint32_t ticks, Turn& turn) {
    std::fprintf(to_, "%u\n", ticks);
    std::fflush(to_);
    std::string line;
    if (!read_line(line)) return false;
    const json answer = json::parse(line, nullptr, false);
    if (!answer.is_object() || !answer.contains("ms")) return false;
    turn.ms = answer["ms"].get<std::vector<double>>();
    turn.view_ms = answer["viewMs"].get<std::vector<double>>();
    turn.bytes = answer["bytes"].get<double>();
    turn.values = answer["values"].get<std::uint64_t>();
    turn.wrong = answer["wrong"].get<std::uint64_t>();
    return true;
}

}  // namespace purview::bench
