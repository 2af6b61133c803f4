// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// @colyseus/schema in a Node process of its own, asked turn by turn. NODE_PATH names its packages
// (./dev bench replication installs them).
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "replication/lists.hpp"

namespace purview::bench {

class ColyseusPeer {
  public:
    struct Turn {
        std::vector<double> ms;       ///< encode, encodeView for all, discardChanges; each tick
        std::vector<double> view_ms;  ///< changes in the views
        double bytes = 0;             ///< for one observer in one tick
        std::uint64_t values = 0;     ///< compared in decoded clients
        std::uint64_t wrong = 0;
    };

    ColyseusPeer() = default;
    ColyseusPeer(const ColyseusPeer&) = delete;
    ColyseusPeer& operator=(const ColyseusPeer&) = delete;
    ~ColyseusPeer();

    /// Empty, or why it does not run.
    std::string start(const std::string& script, const ListWorkload& workload);
    /// False: it has ended.
    bool run(std::uint32_t ticks, Turn& turn);
    const std::string& version() const noexcept { return version_; }

  private:
    bool read_line(std::string& line);

    int process_ = -1;
    std::FILE* to_ = nullptr;
    std::FILE* from_ = nullptr;
    std::string directory_;
    std::string version_;
};

}  // namespace purview::bench
