// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "record/io_recorder.hpp"

#include <array>

#include "core/byte_order.hpp"
#include "core/internal_access.hpp"
#include "record/state_hash.hpp"
#include "server/server_data.hpp"

namespace purview::record {

std::size_t IoRecorder::AddressHash::operator()(const Address& address) const {
    Bytes data;
    append_address(data.text("border"), address);
    std::array<std::byte, 16> sum{};
    def->mac(def->secret, data.view(), sum);
    return static_cast<std::size_t>(load_word(sum.data()));
}

IoRecorder::IoRecorder(Server& server)
    : server_(&server), numbers_(0, AddressHash{&internal(server).def}) {}

void IoRecorder::record_to(Writer* writer, std::uint32_t state_every_ticks) {
    writer_ = writer;
    state_every_ticks_ = state_every_ticks;
    if (writer_ != nullptr) write_state();
}

std::uint32_t IoRecorder::number_of(const Address& address) {
    if (numbers_.size() == addresses_max) numbers_.clear();  // too many: all get new numbers
    const auto [entry, is_new] = numbers_.emplace(address, next_number_);
    if (is_new) {
        ++next_number_;
        Bytes body;
        append_address(body, address);
        writer_->write(ChunkType::address, body.view());
    }
    return entry->second;
}

void IoRecorder::write_state() {
    body_.clear();
    body_.number(server_->current_tick(), 4).number(state_hash(*server_), 8);
    writer_->write(ChunkType::state, body_.view());
    if (writer_->flush()) return;
    writer_ = nullptr;  // a failed write ends the recording
    if (on_lost) on_lost();
}

void IoRecorder::receive(std::span<const std::byte> datagram, const Address& from, Micros now) {
    if (writer_ != nullptr) {
        body_.clear();
        body_.number(now, 8).number(number_of(from), 4).append(datagram);
        writer_->write(ChunkType::received, body_.view());
        drained_ = false;
    }
    server_->receive(datagram, from, now);
}

void IoRecorder::tick(Micros now) {
    if (writer_ != nullptr) {
        writer_->write(ChunkType::tick, Bytes().number(now, 8).view());
        drained_ = false;
    }
    server_->tick(now);
    if (writer_ != nullptr && server_->current_tick() % state_every_ticks_ == 0) write_state();
}

bool IoRecorder::next_datagram(OutgoingDatagram& out) {
    const bool is_there = server_->next_datagram(out);
    if (writer_ == nullptr) return is_there;
    if (is_there) {
        body_.clear();
        body_.number(number_of(out.to), 4).append(out.bytes);
        writer_->write(ChunkType::sent, body_.view());
    } else if (!drained_) {
        writer_->write(ChunkType::drained, {});
        drained_ = true;
    }
    return is_there;
}

void IoRecorder::address_closed(const Address& address) {
    if (writer_ != nullptr) {
        body_.clear();
        body_.number(number_of(address), 4);
        writer_->write(ChunkType::address_closed, body_.view());
        drained_ = false;
    }
    server_->address_closed(address);
}

void IoRecorder::shut_down() {
    if (writer_ != nullptr) {
        writer_->write(ChunkType::shut_down, {});
        drained_ = false;
    }
    server_->shut_down();
}

Result<ObserverId> IoRecorder::add_reference_client() {
    if (writer_ != nullptr) writer_->write(ChunkType::probe, {});
    return server_->add_reference_client();
}

void IoRecorder::note(std::string_view text) {
    if (writer_ == nullptr) return;
    writer_->write(ChunkType::note, Bytes().text(text).view());
    drained_ = false;
}

}  // namespace purview::record
