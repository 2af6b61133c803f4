// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// State of one worker thread. From gather to encode, a tick processes independent sessions on one
// or several threads. A worker owns the scratch memory and the output of one thread.
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
    std::vector<std::uint64_t> again;  ///< slots to evaluate audiences for, one bit each
    std::vector<LocalId> slots;
    std::vector<std::uint32_t> indices;    ///< [slots] entity index
    std::vector<std::uint32_t> allowed;    ///< [slots]
    std::vector<std::uint32_t> evaluated;  ///< positions in slots
    std::vector<EntityId> entities;        ///< [evaluated]
    std::vector<std::uint8_t> answer;      ///< [evaluated]
};

/// For SendIntervals::update.
struct SendIntervalScratch {
    std::vector<LocalId> slots;
    std::vector<EntityId> entities;
    std::vector<float> score;
    std::vector<Replication> settings;
};

/// Small enough to stay in the L1 and L2 caches, large enough to amortize reading the clock.
inline constexpr std::size_t sessions_at_a_time = 8;

/// Used by one thread at a time.
struct TickWorker {
    explicit TickWorker(const FieldStore& fields) : cache(fields) {}

    EncodeCache cache;
    std::array<SnapshotPlan, sessions_at_a_time> plans;
    AudienceScratch audience;
    SendIntervalScratch pace;
    Outbox out;
    std::vector<RpcLateCull> late;  ///< of this tick
    // Counts of this tick, until they are added to the server's counters.
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

/// A chunk of sessions that one worker processed, and its part of the output of that worker.
struct TickChunk {
    TickWorker* worker = nullptr;
    std::size_t first_datagram = 0, end_datagram = 0;  ///< in its outbox
    std::size_t first_late = 0, end_late = 0;          ///< in `late`
};

/// The workers of a server, and which of them processed which chunk of sessions in the running
/// tick. There is always at least one. Workers are never removed, because datagrams may wait in
/// their outboxes.
///
/// Must not depend on what a chunk does.
class TickWorkers {
  public:
    explicit TickWorkers(const FieldStore& fields) : fields_(fields) { add(); }

    /// Sets the threads for later chunks. Must not be called within a tick.
    void set_executor(const Executor& executor) {
        executor_ = executor;
        const std::uint32_t wanted = executor.run == nullptr ? 1 : executor.workers;
        while (workers_.size() < std::min(wanted, workers_max)) add();
    }

    std::size_t size() const noexcept { return workers_.size(); }
    /// The worker that the tick thread uses outside of chunks.
    TickWorker& front() const noexcept { return *workers_.front(); }
    std::vector<std::unique_ptr<TickWorker>>::const_iterator begin() const noexcept {
        return workers_.begin();
    }
    std::vector<std::unique_ptr<TickWorker>>::const_iterator end() const noexcept {
        return workers_.end();
    }

    /// Resets the per-tick results of the workers.
    void begin_tick() noexcept {
        for (const auto& worker : workers_) worker->begin_tick();
    }
    /// Calls work(worker, chunk) for each chunk, in parallel on different workers. With `on_one`,
    /// runs in order on this thread.
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
    /// Chunks of the last run, in session order.
    std::span<const TickChunk> chunks() const noexcept { return chunks_; }

  private:
    void add() { workers_.push_back(std::make_unique<TickWorker>(fields_)); }

    const FieldStore& fields_;
    Executor executor_;
    std::vector<std::unique_ptr<TickWorker>> workers_;
    std::vector<TickChunk> chunks_;
};

}  // namespace purview
