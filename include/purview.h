/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Purview authors
 *
 * The client for other languages, first of all as WebAssembly in a browser. Plain C99: opaque
 * handle, numbers that fit a double, buffers that the library owns. Pointers returned are valid
 * until the next call with the same handle. One thread per handle. No call fails by aborting: a
 * null client answers 0; its state is closed, ids are all ones, texts are empty and other pointers
 * null, but for pv_client_call_rotation, which answers one that is not turned. A client that was
 * refused or closed keeps what it had, ghosts and schema too, and hears no more: of what it held no
 * leaves are told.
 */
#ifndef PURVIEW_H
#define PURVIEW_H

#include <stddef.h>
#include <stdint.h>

/* So that a shared library which our static one is linked into whole exports these
 * (docs/your-server.md). */
#if defined(__GNUC__)
#define PV_API __attribute__((visibility("default")))
#else
#define PV_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define PV_NO_GHOST 0xffffffffu
#define PV_NO_CELL 0xffffffffu

typedef struct pv_client pv_client;

/* One ghost, as it is to be drawn. 32 bytes. */
typedef struct pv_instance {
    float x, y, z;    /* at the asked tick, world units */
    uint32_t ghost;   /* id on this connection */
    uint32_t kind;    /* index into the schema's kinds */
    uint32_t parent;  /* ghost id, or PV_NO_GHOST */
    uint32_t owned;   /* 1: ours */
    uint32_t updated; /* tick of the last update that arrived */
} pv_instance;

/* A ghost that came or went. 20 bytes. */
typedef struct pv_event {
    uint32_t ghost;
    uint32_t kind;
    uint32_t enter; /* 1: came, 0: went, or a copy that was kept ends */
    /* Why it came: 0 entered, 1 spawned, 2 owned, 3 forced, 8 promoted; or went: 4 left, 5 hidden,
     * 6 despawned */
    uint32_t reason;
    uint32_t copy; /* 0 made, 1 removed, 2 left and kept, 3 came back to its copy, 4 copy dropped */
} pv_event;

/* A ghost whose parent or root is another now: attached, broken off, moved, or its group was. 20
 * bytes. A root is its own root and has PV_NO_GHOST as its parent. */
typedef struct pv_relation {
    uint32_t ghost;
    uint32_t old_root, new_root;
    uint32_t old_parent, new_parent;
} pv_relation;

/* A ghost that is not as it was when events were taken before; one that came stands there with all
 * that it is told. 12 bytes. */
typedef struct pv_change {
    uint32_t ghost;
    uint32_t components;    /* bit c: some value of component c, or whether it is told */
    uint32_t owner_changed; /* 1: it may be ours since, or not any more, or is new */
} pv_change;

/* A call of the server. 20 bytes. */
typedef struct pv_call {
    uint32_t rpc;        /* index into the schema's calls */
    uint32_t ghost;      /* what it is about, or PV_NO_GHOST */
    uint32_t first;      /* its first argument in pv_client_call_values */
    uint32_t count;      /* of arguments */
    uint32_t ghost_left; /* 1: it came in time, but the ghost has gone since: `ghost` names none */
} pv_call;

/* Counters since the client was made. */
typedef struct pv_stats {
    double bytes_sent, bytes_received;
    double packets_received, packets_late, packets_malformed, packets_lost;
    double order_violations;
    double rtt_ms;           /* smoothed; 0: not known yet */
    double calls_dropped;    /* whose ghosts did not come, or that nobody took */
    double messages_dropped; /* that nobody took */
    double events_dropped;   /* and relations, that nobody took */
    double calls_unsent;     /* unreliable ones for which the packet of their tick had no room */
} pv_stats;

/* role: 0 spectator, 1 player. nonce: 64 random bits of the system's in two halves, others for
 * every connection; null where both are 0. digest_every: 0 never. */
PV_API pv_client* pv_client_create(uint32_t nonce_low, uint32_t nonce_high, uint32_t role,
                                   uint32_t digest_every);
PV_API void pv_client_destroy(pv_client* client);

/* 2,048 bytes for what goes in: a datagram before pv_client_receive, a command before
 * pv_client_send_command. */
PV_API uint8_t* pv_client_input(pv_client* client);
PV_API void pv_client_receive(pv_client* client, uint32_t size, double now_ms);
/* What the game is told of us when we ask to join: so many bytes at pv_client_input. Of a name, in
 * UTF-8, 32 count; a credential of more than 512 is not sent. Only before the first
 * pv_client_tick. */
PV_API void pv_client_set_name(pv_client* client, uint32_t size);
PV_API void pv_client_set_credential(pv_client* client, uint32_t size);
/* Sends what is due; call it 20 to 60 times a second. */
PV_API void pv_client_tick(pv_client* client, double now_ms);
/* Size of the next datagram to send, 0: none; its bytes are at pv_client_output. */
PV_API uint32_t pv_client_next_datagram(pv_client* client);
PV_API const uint8_t* pv_client_output(const pv_client* client);
/* 1 when the command is under way. */
PV_API uint32_t pv_client_send_command(pv_client* client, uint32_t size);
/* A message to the game, reliable and in order, of at most 65,534 bytes: room for it, or null where
 * there is none; and 1 when what was written there is under way (0: not joined, or too much waits).
 * Valid until the next call of either. */
PV_API uint8_t* pv_client_message_room(pv_client* client, uint32_t size);
PV_API uint32_t pv_client_send_message(pv_client* client, uint32_t size);
PV_API void pv_client_leave(pv_client* client);

/* 0 connecting, 1 joining, 2 joined, 3 refused, 4 closed. */
PV_API uint32_t pv_client_state(const pv_client* client);
/* 0 not refused, 1 another version of the protocol, 2 another schema, 3 full, 4 too many of this
 * host, 6 the game refused, 7 shutting down. */
PV_API uint32_t pv_client_refuse_reason(const pv_client* client);
/* 0 not closed, 1 left, 2 timeout, 3 malformed, 4 kicked, 5 shutting down, 6 never joined. */
PV_API uint32_t pv_client_close_reason(const pv_client* client);
/* What the server's game said why, at most 120 bytes, up to the first that is 0; "": nothing. Valid
 * until the next call of this. */
PV_API const char* pv_client_reason_text(const pv_client* client);

PV_API uint32_t pv_client_tick_hz(const pv_client* client);
/* Of the newest snapshot; where nothing happens there may be none for 256 ticks. */
PV_API uint32_t pv_client_newest_tick(const pv_client* client);
PV_API uint32_t pv_client_newest_packet(const pv_client* client);
PV_API uint32_t pv_client_ghost_count(const pv_client* client);
/* Fills an array with all ghosts as of a tick that may lie between two; returns their number. */
PV_API uint32_t pv_client_collect(pv_client* client, double tick);
PV_API const pv_instance* pv_client_instances(const pv_client* client);
/* Events since the last call; returns their number. What they say has left can be read as it was
 * last until the next call, unless another has come under its id since. Of more than 65,536 the
 * older half is dropped, and counted (events_dropped): collect what is there then. */
PV_API uint32_t pv_client_take_events(pv_client* client);
PV_API const pv_event* pv_client_events(const pv_client* client);
/* Of the same time as the events taken last: one for each ghost and snapshot, to be looked at
 * behind them. */
PV_API uint32_t pv_client_relation_count(const pv_client* client);
PV_API const pv_relation* pv_client_relations(const pv_client* client);
/* Of the same time: each ghost that is there once, in no order. */
PV_API uint32_t pv_client_change_count(const pv_client* client);
PV_API const pv_change* pv_client_changes(const pv_client* client);
/* Index into the schema's kinds, 0xffffffff for a ghost that is not held; 1 when it is ours; its
 * parent, PV_NO_GHOST for a root. */
PV_API uint32_t pv_client_kind_of(const pv_client* client, uint32_t ghost);
PV_API uint32_t pv_client_is_owned(const pv_client* client, uint32_t ghost);
PV_API uint32_t pv_client_parent_of(const pv_client* client, uint32_t ghost);
/* Where it was at a tick that may lie between two: x, y, z, zeros for one of which nothing is
 * known; valid until the next call of anything. */
PV_API const float* pv_client_place(pv_client* client, uint32_t ghost, double tick);
/* Of its group, itself for a root; PV_NO_GHOST for one that is not held. */
PV_API uint32_t pv_client_root_of(const pv_client* client, uint32_t ghost);
/* Grids of nodes in a shared mode (docs/shared.md), and the cell of a ghost by its last place: the
 * same number as on the server. PV_NO_CELL: no such ghost or grid, or its place is in no cell. */
PV_API uint32_t pv_client_cell_grid_count(const pv_client* client);
PV_API uint32_t pv_client_cell_of(const pv_client* client, uint32_t ghost, uint32_t grid);
PV_API const pv_stats* pv_client_stats(pv_client* client);
/* 0 of a field that is no number. */
PV_API double pv_client_value(const pv_client* client, uint32_t ghost, uint32_t component,
                              uint32_t field);
/* A text field: zero-terminated, any bytes but zeros; valid until the next call of anything. */
PV_API const char* pv_client_text(pv_client* client, uint32_t ghost, uint32_t component,
                                  uint32_t field);
/* A rotation field: x, y, z, w, of length 1; valid until the next call of anything. */
PV_API const float* pv_client_rotation(pv_client* client, uint32_t ghost, uint32_t component,
                                       uint32_t field);
/* How a ghost was turned at a tick, in the world, by the orientation of its kind: x, y, z, w, of
   length 1; valid until the next call of anything. */
PV_API const float* pv_client_orientation(pv_client* client, uint32_t ghost, double tick);
/* A reference field: a ghost that is held, or PV_NO_GHOST. */
PV_API uint32_t pv_client_reference(const pv_client* client, uint32_t ghost, uint32_t component,
                                    uint32_t field);
/* 1: we are told the component, and its values are those of now. */
PV_API uint32_t pv_client_is_told(const pv_client* client, uint32_t ghost, uint32_t component);
/* How the copy of a ghost is kept that has left: 0 it is not, 1 frozen, 2 stale, 3 out of sight. */
PV_API uint32_t pv_client_kept_as(const pv_client* client, uint32_t ghost);
/* 1: everything that was relevant at the join has arrived. */
PV_API uint32_t pv_client_is_view_complete(const pv_client* client);

/* Calls of the server since the last time, in order; returns their number. Take them after every
 * pv_client_receive: of more than 1,024 the oldest are dropped, and counted (calls_dropped). */
PV_API uint32_t pv_client_take_calls(pv_client* client);
PV_API const pv_call* pv_client_calls(const pv_client* client);
/* 0 of an argument that is no number. */
PV_API const double* pv_client_call_values(const pv_client* client);
/* An argument by its index in pv_client_call_values, until calls are taken again. A text: zero-
 * terminated, any bytes but zeros, empty where it is none; a rotation: x, y, z, w, of length 1. */
PV_API const char* pv_client_call_text(const pv_client* client, uint32_t value);
PV_API const float* pv_client_call_rotation(const pv_client* client, uint32_t value);
/* A text of so many bytes of UTF-8, or a rotation as four doubles, at pv_client_input, for an
 * argument of the next pv_client_call. A text is cut at the size of its field, before a character
 * that does not fit, and at a zero. */
PV_API void pv_client_give_text(pv_client* client, uint32_t argument, uint32_t size);
PV_API void pv_client_give_rotation(pv_client* client, uint32_t argument);
/* Calls the server with `count` arguments, as doubles at pv_client_input; those that are no
 * numbers, as they were given. ghost: PV_NO_GHOST for a call that is about none. 1 when it is under
 * way; else 0: no such call to the server or ghost, not ours to make, or too many wait. */
PV_API uint32_t pv_client_call(pv_client* client, uint32_t rpc, uint32_t ghost, uint32_t count);

/* Messages of the server's game, in order. 1: there was one more, which is at pv_client_message
 * until the next call of this. Take them after every pv_client_receive: of more than 1 MiB the
 * oldest are dropped, and counted (messages_dropped). */
PV_API uint32_t pv_client_next_message(pv_client* client);
PV_API const uint8_t* pv_client_message(const pv_client* client);
PV_API uint32_t pv_client_message_size(const pv_client* client);

/* The schema, once it has arrived (state 2). Names are zero-terminated. */
PV_API uint32_t pv_client_kind_count(const pv_client* client);
PV_API const char* pv_client_kind_name(const pv_client* client, uint32_t kind);
PV_API uint32_t pv_client_component_count(const pv_client* client);
PV_API const char* pv_client_component_name(const pv_client* client, uint32_t component);
PV_API uint32_t pv_client_field_count(const pv_client* client, uint32_t component);
PV_API const char* pv_client_field_name(const pv_client* client, uint32_t component,
                                        uint32_t field);
/* 0 a number, 1 a text, 2 a rotation, 3 a reference. */
PV_API uint32_t pv_client_field_type(const pv_client* client, uint32_t component, uint32_t field);
PV_API uint32_t pv_client_rpc_count(const pv_client* client);
PV_API const char* pv_client_rpc_name(const pv_client* client, uint32_t rpc);
/* 1: from clients to the server. */
PV_API uint32_t pv_client_rpc_to_server(const pv_client* client, uint32_t rpc);
/* 1: it is about a ghost; and who may make it: 0 anybody, 1 whoever owns that one, 2 players. */
PV_API uint32_t pv_client_rpc_about_ghost(const pv_client* client, uint32_t rpc);
PV_API uint32_t pv_client_rpc_callers(const pv_client* client, uint32_t rpc);
PV_API uint32_t pv_client_argument_count(const pv_client* client, uint32_t rpc);
/* 0 a number, 1 a text, 2 a rotation. */
PV_API uint32_t pv_client_argument_type(const pv_client* client, uint32_t rpc, uint32_t argument);
PV_API const char* pv_client_argument_name(const pv_client* client, uint32_t rpc,
                                           uint32_t argument);
PV_API const char* pv_client_world_name(const pv_client* client);

#ifdef __cplusplus
}
#endif

#endif
