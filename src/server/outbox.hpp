// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A buffer of outgoing datagrams: contiguous memory, in the order of writing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/aligned.hpp"
#include "purview/connection.hpp"
#include "purview/limits.hpp"
#include "purview/server.hpp"

namespace purview {

class Outbox {
  public:
    /// Returns memory for the next datagram, limits::datagram_bytes. Valid until `add`.
    std::span<std::byte> room() {
        const std::size_t end = bytes_.size() < used_ + limits::datagram_bytes
                                    ? std::max(used_ + limits::datagram_bytes, 2 * bytes_.size())
                                    : bytes_.size();
        if (end != bytes_.size()) bytes_.resize(end);
        return std::span<std::byte>(bytes_).subspan(used_, limits::datagram_bytes);
    }
    /// Adds the first `bytes` bytes of room() as a datagram to `to`.
    void add(const Address& to, std::size_t bytes) {
        PURVIEW_ASSERT(bytes > 0 && bytes <= limits::datagram_bytes);
        PURVIEW_ASSERT(used_ + bytes <= bytes_.size());
        datagrams_.push_back({to, used_, bytes});
        used_ += bytes;
    }
    std::size_t size() const noexcept { return datagrams_.size(); }
    const Address& to(std::size_t i) const noexcept { return datagrams_[i].to; }
    std::span<const std::byte> bytes(std::size_t i) const noexcept {
        PURVIEW_ASSERT(i < datagrams_.size());
        return std::span<const std::byte>(bytes_).subspan(datagrams_[i].offset, datagrams_[i].size);
    }
    void clear() noexcept {
        datagrams_.clear();
        used_ = 0;
    }

  private:
    struct Datagram {
        Address to;
        std::size_t offset;
        std::size_t size;
    };
    LineVector<std::byte> bytes_;  ///< grows, never shrinks
    std::size_t used_ = 0;
    std::vector<Datagram> datagrams_;
};

/// The sending order of the datagrams in several outboxes.
class OutboxOrder {
  public:
    bool empty() const noexcept { return next_ == runs_.size(); }
    /// Appends the datagrams [begin, end) of a box. The box must outlive them.
    void add(const Outbox& box, std::size_t begin, std::size_t end) {
        PURVIEW_ASSERT(begin <= end && end <= box.size());
        if (begin == end) return;
        const bool goes_on =
            !runs_.empty() && runs_.back().box == &box && runs_.back().end == begin;
        goes_on ? void(runs_.back().end = end) : runs_.push_back({&box, begin, end});
        next_ = std::min(next_, runs_.size() - 1);
    }
    /// Takes the next datagram; the order must not be empty.
    OutgoingDatagram take() noexcept {
        PURVIEW_ASSERT(!empty() && runs_[next_].begin < runs_[next_].end);
        Run& run = runs_[next_];
        const std::size_t i = run.begin++;
        if (run.begin == run.end) ++next_;
        return {run.box->to(i), run.box->bytes(i)};
    }
    void clear() noexcept {
        runs_.clear();
        next_ = 0;
    }

  private:
    struct Run {
        const Outbox* box;
        std::size_t begin, end;
    };
    std::vector<Run> runs_;
    std::size_t next_ = 0;
};

}  // namespace purview
