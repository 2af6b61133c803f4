// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// @colyseus/schema in a separate Node process, used turn by turn. NODE_PATH is the directory of its
// packages (./dev bench replication installs them).
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
        std::vector<double> ms;       ///< per tick: encode, encodeView for all, discardChanges
        std::vector<double> view_ms;  ///< per tick: changes of the views
        double bytes = 0;             ///< per observer and tick
        std::uint64_t values = 0;     ///< compared in decoded clients
        std::uint64_t wrong = 0;
    };

    ColyseusPeer() = default;
    ColyseusPeer(const ColyseusPeer&) = delete;
    ColyseusPeer& operator=(const ColyseusPeer&) = delete;
    ~ColyseusPeer();

    /// Returns an empty string, or why the peer does not run.
    std::string start(const std::string& script, const ListWorkload& workload);
    /// Returns false if the process has ended.
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
