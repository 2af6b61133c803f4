// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A small thread pool behind an Executor. The threads sleep until a call, and take its tasks one
// after another.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "purview/extend/executor.hpp"

namespace purview {

class ThreadPool {
  public:
    /// The calling thread counts as one of the workers.
    explicit ThreadPool(std::uint32_t workers) {
        for (std::uint32_t i = 1; i < workers; ++i) threads_.emplace_back([this] { serve(); });
    }
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;
    ~ThreadPool() {
        {
            const std::lock_guard lock(mutex_);
            ends_ = true;
        }
        come_.notify_all();
        for (std::thread& t : threads_) t.join();
    }
    Executor executor() {
        return {[](void* self, std::uint32_t count, void (*task)(void*, std::uint32_t),
                   void* context) { static_cast<ThreadPool*>(self)->run(count, task, context); },
                this, static_cast<std::uint32_t>(threads_.size()) + 1};
    }

  private:
    void run(std::uint32_t count, void (*task)(void*, std::uint32_t), void* context) {
        {
            const std::lock_guard lock(mutex_);
            task_ = task;
            context_ = context;
            count_ = count;
            next_ = 0;
            busy_ = threads_.size();
            ++call_;
        }
        come_.notify_all();
        work();
        std::unique_lock lock(mutex_);
        done_.wait(lock, [this] { return busy_ == 0; });
    }
    void work() {
        for (std::uint32_t i = next_++; i < count_; i = next_++) task_(context_, i);
    }
    void serve() {
        std::uint64_t seen = 0;
        std::unique_lock lock(mutex_);
        while (true) {
            come_.wait(lock, [&] { return ends_ || call_ != seen; });
            if (ends_) return;
            seen = call_;
            lock.unlock();
            work();
            lock.lock();
            if (--busy_ == 0) done_.notify_one();
        }
    }

    std::mutex mutex_;
    std::condition_variable come_, done_;
    void (*task_)(void*, std::uint32_t) = nullptr;
    void* context_ = nullptr;
    std::uint32_t count_ = 0;
    std::atomic<std::uint32_t> next_{0};
    std::size_t busy_ = 0;
    std::uint64_t call_ = 0;
    bool ends_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace purview
