// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "net/huge_pages.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/hash.hpp"

namespace purview {

namespace {

struct Piece {
    std::byte* memory;
    std::size_t bytes;
    std::size_t alignment;
    std::byte mark;
};

bool is_intact(const Piece& piece) {
    return std::all_of(piece.memory, piece.memory + piece.bytes,
                       [&](std::byte one) { return one == piece.mark; });
}

}  // namespace

TEST_CASE("huge pages: blocks are aligned, do not overlap and are reused") {
    const MemoryHooks hooks = net::huge_page_hooks();
    if (hooks.allocate == nullptr)
        return;  // no hooks: the address sanitizer has to see operator new
    constexpr std::size_t large_page = std::size_t{2} << 20;
    SplitMix random(7);
    std::vector<Piece> pieces;
    std::size_t misaligned = 0, overwritten = 0, large = 0;
    const auto release = [&](std::size_t i) {
        const Piece piece = pieces[i];
        overwritten += is_intact(piece) ? 0 : 1;
        hooks.release(piece.memory, piece.bytes, piece.alignment, hooks.user);
        pieces[i] = pieces.back();
        pieces.pop_back();
    };
    for (std::uint32_t i = 0; i < 2000; ++i) {
        if (pieces.size() > 40) release(random.below(static_cast<std::uint32_t>(pieces.size())));
        const std::size_t alignment = std::size_t{1} << (4 + random.below(9));
        // Sizes from 1 byte to 4 MB, spread over the powers of two.
        const std::size_t bytes = std::size_t{1 + random.below(255)} << random.below(15);
        auto* const memory = static_cast<std::byte*>(hooks.allocate(bytes, alignment, hooks.user));
        const auto address = reinterpret_cast<std::uintptr_t>(memory);
        misaligned += address % alignment != 0 ? 1 : 0;
        if (bytes >= large_page) {
            ++large;
            misaligned += address % large_page != 0 ? 1 : 0;
        }
        const Piece piece{memory, bytes, alignment, static_cast<std::byte>(i)};
        std::fill_n(piece.memory, bytes, piece.mark);
        pieces.push_back(piece);
    }
    while (!pieces.empty()) release(pieces.size() - 1);
    CHECK(large > 20);
    CHECK(misaligned == 0);
    CHECK(overwritten == 0);
}

TEST_CASE("huge pages: running out of memory aborts the process with a message") {
    const MemoryHooks hooks = net::huge_page_hooks();
    if (hooks.allocate == nullptr)
        return;  // no hooks: the address sanitizer has to see operator new
    // A small block shares pages with others, a large block does not.
    for (const std::size_t bytes : {std::size_t{1'000}, std::size_t{64} << 20}) {
        int ends[2];
        REQUIRE(::pipe(ends) == 0);
        const pid_t child = ::fork();
        if (child == 0) {
            (void)::dup2(ends[1], STDERR_FILENO);
            const rlimit none{0, 0};
            (void)::setrlimit(RLIMIT_CORE, &none);
            (void)::signal(SIGABRT, SIG_DFL);  // doctest's handler would report a failure
            const rlimit no_new_mappings{1, 1};
            (void)::setrlimit(RLIMIT_AS, &no_new_mappings);
            for (int i = 0; i < 1'000'000; ++i)
                if (hooks.allocate(bytes, 64, hooks.user) == nullptr) break;
            ::_exit(0);
        }
        REQUIRE(child > 0);
        ::close(ends[1]);
        std::string message;
        char piece[256];
        for (ssize_t got = 0; (got = ::read(ends[0], piece, sizeof piece)) > 0;)
            message.append(piece, static_cast<std::size_t>(got));
        ::close(ends[0]);
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        CHECK(WIFSIGNALED(status));
        CHECK(WTERMSIG(status) == SIGABRT);
        CHECK(message.starts_with("purview: out of memory: cannot map "));
        CHECK(message.ends_with(" bytes\n"));
    }
}

}  // namespace purview
