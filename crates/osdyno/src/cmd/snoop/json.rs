//! The answers for programs.

use inspect::snoop::{ListeningPlace, ServerGrowth, SnoopAnswer};
use serde_json::{Value, json};

use super::seen::{Manner, Seen};
use super::words;

pub(super) fn of(seen: &[Seen]) -> Value {
    json!({ "schema": 1, "servers": seen.iter().map(server).collect::<Value>() })
}

fn server(seen: &Seen) -> Value {
    let places = seen.server.places.iter().map(|place| match place {
        ListeningPlace::Tcp(address, port) => json!({ "address": address, "port": port }),
        ListeningPlace::Unix(path) => json!({ "path": path }),
    });
    let missing = seen.missing();
    json!({
        "pid": seen.server.root,
        "name": seen.server.name,
        "listens": places.collect::<Value>(),
        "answer": seen.answer.as_ref().map(answer),
        "connections": seen.manner.map(|manner| match manner {
            Manner::Http => "http",
            Manner::Unfinished => "unfinished",
            Manner::Silent => "silent",
        }),
        "not_seen": {
            "processes_without_descriptors": missing.descriptors,
            "processes_of_others": missing.strangers,
            "threads_without_wait": missing.waits,
            "threads_without_arguments": missing.arguments,
            "threads_not_sampled": missing.threads,
            "is_hidepid": missing.is_hidden,
            "in_words": words::missing(&missing),
        },
    })
}

fn answer(answer: &SnoopAnswer) -> Value {
    let said = |clues: &[inspect::snoop::Clue]| clues.iter().map(words::clue).collect::<Vec<_>>();
    let prediction = answer.prediction.as_ref().map(|prediction| {
        json!({
            "connections": prediction.connections,
            "processes": prediction.processes,
            "threads": prediction.threads,
            "connection_bytes": prediction.connection_bytes,
            "memory_bytes": prediction.memory_bytes,
            "connections_at_most": prediction.at_most,
            "compare_with": words::comparison(answer.mechanism),
        })
    });
    json!({
        "architecture": answer.architecture.word(),
        "phrase": words::phrase(answer),
        "mechanism": answer.mechanism.word(),
        "workers": answer.workers,
        "has_supervisor": answer.has_supervisor,
        "threads": answer.threads,
        "has_pool": answer.has_pool,
        "confidence": words::confidence(answer.confidence),
        "for": said(&answer.reasons),
        "against": said(&answer.doubts),
        "alternatives": answer.alternatives.iter().map(|other| other.word()).collect::<Value>(),
        "growth": answer.growth.iter().map(growth).collect::<Value>(),
        "prediction": prediction,
    })
}

fn growth(row: &ServerGrowth) -> Value {
    json!({
        "held": row.held,
        "is_after": row.is_after,
        "connections": row.connections,
        "unaccepted": row.unaccepted,
        "processes": row.processes,
        "threads": row.threads,
        "descriptors": row.descriptors,
        "memory_bytes": row.memory_bytes,
    })
}
