// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "mail.hpp"

#include <algorithm>

#include "core/hash.hpp"

namespace purview::test {

namespace {

constexpr std::uint64_t message_salts[] = {1, 3}, command_salt = 2;
constexpr std::size_t number_bytes = 4;

/// Returns the number, followed by bytes that are derived from it; usually some dozens.
std::vector<std::byte> payload(std::uint64_t client, std::uint32_t number, std::uint64_t salt,
                               bool may_be_long) {
    const std::uint64_t seed = mix64(mix64(client + salt) + number);
    std::size_t size = number_bytes + seed % 60;
    if (may_be_long && seed % 16 == 0) size += 400 + seed / 16 % 8 * 300;
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) {
        bytes[i] = static_cast<std::byte>(i < number_bytes ? number >> (8 * i) : mix64(seed + i));
    }
    return bytes;
}

bool is_equal(std::span<const std::byte> payload, std::span<const std::byte> data) {
    return std::equal(payload.begin(), payload.end(), data.begin(), data.end());
}

std::uint32_t number_of(std::span<const std::byte> bytes) {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < number_bytes && i < bytes.size(); ++i)
        number |= static_cast<std::uint32_t>(bytes[i]) << (8 * i);
    return number;
}

}  // namespace

void Mail::fail(const char* what, std::uint32_t number) {
    if (trouble_.empty()) trouble_ = std::string(what) + " " + std::to_string(number);
}

Mail::Box Mail::box_of(std::uint64_t client) const {
    const auto found = boxes_.find(client);
    return found == boxes_.end() ? Box{} : found->second;
}

std::vector<std::byte> Mail::next_message(Way way, std::uint64_t client) const {
    const auto w = static_cast<std::size_t>(way);
    return payload(client, box_of(client).messages_sent[w] + 1, message_salts[w], true);
}

void Mail::message_sent(Way way, std::uint64_t client) {
    const auto w = static_cast<std::size_t>(way);
    ++boxes_[client].messages_sent[w];
    ++counts_.messages_sent[w];
}

void Mail::message_arrived(Way way, std::uint64_t client, std::span<const std::byte> data) {
    const auto w = static_cast<std::size_t>(way);
    Box& box = boxes_[client];
    ++counts_.messages[w];
    const std::uint32_t number = ++box.messages_arrived[w];
    if (number > box.messages_sent[w] ||
        !is_equal(payload(client, number, message_salts[w], true), data))
        fail(way == Way::to_client ? "the client received a wrong message instead of number"
                                   : "the game received a wrong message instead of number",
             number);
}

std::vector<std::byte> Mail::next_command(std::uint64_t client) const {
    return payload(client, box_of(client).commands_given + 1, command_salt, false);
}

void Mail::command_given(std::uint64_t client) {
    ++boxes_[client].commands_given;
    ++counts_.commands_given;
}

void Mail::command_arrived(std::uint64_t client, std::span<const std::byte> data) {
    Box& box = boxes_[client];
    const std::uint32_t number = number_of(data);
    ++counts_.commands;
    if (number > box.commands_given ||
        !is_equal(payload(client, number, command_salt, false), data))
        return fail("the game received a command that was not sent, number", number);
    if (number <= box.newest_command)
        fail("the game received a duplicate or late command, number", number);
    box.newest_command = number;
}

std::uint64_t Mail::missing(std::uint64_t client) const {
    const Box box = box_of(client);
    std::uint64_t missing = 0;
    for (std::size_t w = 0; w < box.messages_sent.size(); ++w)
        missing += box.messages_sent[w] - box.messages_arrived[w];
    return missing;
}

}  // namespace purview::test
