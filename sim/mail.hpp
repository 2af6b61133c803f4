// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Checks the messages and commands between a game and its clients. Messages in both directions must
// arrive completely, unchanged and in order. Client commands must arrive at most once, unchanged
// and in order; some may be missing. Clients are identified by their nonces.
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
    std::array<std::uint64_t, 2> messages{};       ///< arrived messages
    std::uint64_t commands_given = 0;
    std::uint64_t commands = 0;  ///< arrived commands
};

class Mail {
  public:
    enum class Way : std::uint8_t { to_client, to_game };
    /// Returns the next message to send; its content depends on client, direction and number.
    std::vector<std::byte> next_message(Way way, std::uint64_t client) const;
    void message_sent(Way way, std::uint64_t client);
    void message_arrived(Way way, std::uint64_t client, std::span<const std::byte> data);
    std::vector<std::byte> next_command(std::uint64_t client) const;
    void command_given(std::uint64_t client);
    void command_arrived(std::uint64_t client, std::span<const std::byte> data);

    /// Number of messages to and from this client that have not arrived.
    std::uint64_t missing(std::uint64_t client) const;
    /// Description of the first violated guarantee; empty if there is none.
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
