// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What a game and its clients tell each other beside the world. Messages, either way, arrive all,
// as they were and in order; commands of a client at most once, as they were and in order, and some
// may be missing. Clients are known by their nonces.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace purview::test {

struct MailCounts {
    std::array<std::uint64_t, 2> messages_sent{};  ///< [Mail::Way]
    std::array<std::uint64_t, 2> messages{};       ///< that arrived
    std::uint64_t commands_given = 0;
    std::uint64_t commands = 0;  ///< that arrived
};

class Mail {
  public:
    enum class Way : std::uint8_t { to_client, to_game };
    /// What is to be said next: other bytes for each client, way and number.
    std::vector<std::byte> next_message(Way way, std::uint64_t client) const;
    void message_sent(Way way, std::uint64_t client);
    void message_arrived(Way way, std::uint64_t client, std::span<const std::byte> data);
    std::vector<std::byte> next_command(std::uint64_t client) const;
    void command_given(std::uint64_t client);
    void command_arrived(std::uint64_t client, std::span<const std::byte> data);

    /// Messages to this client and from it that have not arrived.
    std::uint64_t missing(std::uint64_t client) const;
    /// The first promise that was broken, in words; empty: none.
    const std::string& trouble() const noexcept { return trouble_; }
    const MailCounts& counts() const noexcept { return counts_; }

  private:
    struct Box {
        std::array<std::uint32_t, 2> messages_sent{};  ///< [Way]
        std::array<std::uint32_t, 2> messages_arrived{};
        std::uint32_t commands_given = 0;
        std::uint32_t newest_command = 0;
    };
    Box box_of(std::uint64_t client) const;
    void fail(const char* what, std::uint32_t number);

    std::map<std::uint64_t, Box> boxes_;
    std::string trouble_;
    MailCounts counts_;
};

}  // namespace purview::test
