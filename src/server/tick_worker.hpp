// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// From gather to encode a tick goes through the sessions, on one thread or several, and no session
// knows of another. What a thread needs for that besides the session, and what it wrote.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/run_chunks.hpp"
#include "purview/rpc.hpp"
#include "purview/rules.hpp"
#include "replication/encode_cache.hpp"
#include "replication/snapshot_writer.hpp"
#include "server/outbox.hpp"

namespace purview {

/// For AudienceFilter::decide.
struct AudienceScratch {
    std::vector<std::uint64_t> again;  ///< lanes whose audience is evaluated, by mask
    std::vector<LocalId> lanes;
    std::vector<std::uint32_t> indices;    ///< [lanes] of their entities
    std::vector<std::uint32_t> allowed;    ///< [lanes]
    std::vector<std::uint32_t> evaluated;  ///< positions in lanes
    std::vector<EntityId> entities;        ///< [evaluated]
    std::vector<std::uint8_t> answer;      ///< [evaluated]
};

/// For SendIntervals::update.
struct PaceScratch {
    std::vector<LocalId> lanes;
    std::vector<EntityId> entities;
    std::vector<float> score;
    std::vector<Replication> settings;
};

/// Few enough for the nearest caches, and enough that the clock is not what the stages wait for.
inline constexpr std::size_t sessions_at_a_time = 8;

/// One thread at a time uses it.
struct TickWorker {
    explicit TickWorker(const FieldStore& fields) : cache(fields) {}

    EncodeCache cache;
    std::array<SnapshotPlan, sessions_at_a_time> plans;
    AudienceScratch audience;
    PaceScratch pace;
    Outbox out;
    std::vector<RpcLateCull> late;  ///< of this tick
    // Of this tick, until they are added to those of the server.
    std::uint64_t calls_written = 0;
    std::uint64_t split_updates = 0;
    std::uint64_t limited_updates = 0;
    std::uint32_t gather_us = 0;
    std::uint32_t prioritize_us = 0;
    std::uint32_t encode_us = 0;

    void begin_tick() noexcept {
        late.clear();
        calls_written = split_updates = limited_updates = 0;
        gather_us = prioritize_us = encode_us = 0;
    }
};

/// Groups of sessions that one worker processed in a row.
struct TickChunk {
    TickWorker* worker = nullptr;
    std::size_t first_datagram = 0, end_datagram = 0;  ///< in its outbox
    std::size_t first_late = 0, end_late = 0;          ///< in `late`
};

/// The workers of a server, and which of them processed which chunk of sessions in the running
/// tick. There is always one. Workers are never removed: datagrams may wait in the outbox of any of
/// them. Must not know: what is done in a chunk.
class TickWorkers {
  public:
    explicit TickWorkers(const FieldStore& fields) : fields_(fields) { add(); }

    /// Threads for the chunks from now on. Not within a tick.
    void set_executor(const Executor& executor) {
        executor_ = executor;
        const std::uint32_t wanted = executor.run == nullptr ? 1 : executor.workers;
        while (workers_.size() < std::min(wanted, workers_max)) add();
    }

    std::size_t size() const noexcept { return workers_.size(); }
    /// The one that the thread of the tick uses outside of chunks.
    TickWorker& front() const noexcept { return *workers_.front(); }
    std::vector<std::unique_ptr<TickWorker>>::const_iterator begin() const noexcept {
        return workers_.begin();
    }
    std::vector<std::unique_ptr<TickWorker>>::const_iterator end() const noexcept {
        return workers_.end();
    }

    /// Resets what the workers report of one tick.
    void begin_tick() noexcept {
        for (const auto& worker : workers_) worker->begin_tick();
    }
    /// work(worker, chunk) for each of the chunks, at once for different workers; with `on_one`, in
    /// order and on this thread.
    template <class Work>
    void run(std::size_t chunks, bool on_one, Work&& work) {
        chunks_.assign(chunks, {});
        const std::size_t count =
            on_one ? 1 : std::min<std::size_t>(executor_.workers, workers_.size());
        run_chunks(executor_, count, chunks, [&](std::size_t w, std::size_t c) {
            TickWorker& worker = *workers_[w];
            const std::size_t first_datagram = worker.out.size(), first_late = worker.late.size();
            work(worker, c);
            chunks_[c] = {&worker, first_datagram, worker.out.size(), first_late,
                          worker.late.size()};
        });
    }
    /// Of the last run, in the order of sessions.
    std::span<const TickChunk> chunks() const noexcept { return chunks_; }

  private:
    void add() { workers_.push_back(std::make_unique<TickWorker>(fields_)); }

    const FieldStore& fields_;
    Executor executor_;
    std::vector<std::unique_ptr<TickWorker>> workers_;
    std::vector<TickChunk> chunks_;
};

}  // namespace purview
