// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/message_inbox.hpp"

#include "purview/limits.hpp"
#include "purview/status.hpp"

namespace purview {

std::size_t MessageInbox::add(std::span<const std::byte> message) {
    messages_.emplace_back(message.begin(), message.end());
    bytes_ += message.size() + limits::message_overhead_bytes;
    std::size_t dropped = 0;
    for (; bytes_ > limits::messages_received_bytes; ++dropped) {
        PURVIEW_ASSERT(messages_.size() > 1);  // the limit has room for the largest message
        bytes_ -= messages_.front().size() + limits::message_overhead_bytes;
        messages_.pop_front();
    }
    return dropped;
}

bool MessageInbox::next(std::span<const std::byte>& out) {
    if (messages_.empty()) return false;
    taken_ = std::move(messages_.front());
    messages_.pop_front();
    PURVIEW_ASSERT(bytes_ >= taken_.size() + limits::message_overhead_bytes);
    bytes_ -= taken_.size() + limits::message_overhead_bytes;
    PURVIEW_ASSERT(messages_.empty() == (bytes_ == 0));
    out = taken_;
    return true;
}

}  // namespace purview
