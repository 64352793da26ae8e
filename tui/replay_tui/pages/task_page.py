"""The task of a trajectory: what was asked, what the model wrote beside its calls, and what it concluded."""

from __future__ import annotations

from replay.records import Answer, Call
from replay.runfile.trajectory_queries import StoredTrajectory
from replay_tui.pages.answer_lines import answer_lines, text_lines
from replay_tui.pages.json_lines import json_lines
from replay_tui.pages.writer import Row, Writer
from replay_tui.theme import Palette


def task_page(stored: StoredTrajectory, width: int, styles: Palette) -> list[Row]:
    """The page."""
    writer, record = Writer(width, styles), stored.record
    writer.spans((f"{record.id}  ", styles.strong), (stored.model, styles.text))
    facts = [record.task.type or "", f"{len(record.steps)} steps", f"{sum(len(s.calls) for s in record.steps)} calls"]
    if record.usage is not None:
        facts.append(f"{record.usage.input_tokens or 0:,} tokens in, {record.usage.output_tokens or 0:,} out")
    writer.prose(" · ".join(fact for fact in facts if fact), styles.dim)
    writer.prose(f"{record.source.file} {record.source.position} ({record.source.format})", styles.dim)
    if record.parent is not None:
        writer.prose(
            f"sub-agent of {record.parent.trajectory} {record.parent.call or ''} (u goes there)", styles.accent
        )
    writer.heading("Question")
    writer.prose((record.task.question or "not recorded")[:20_000])
    for image in record.task.images:
        writer.prose(f"[image {_image(image)}]", styles.accent)
    writer.heading("Final reply")
    writer.prose((record.final_reply or "none recorded")[:20_000])
    step_texts = [(number, step.text) for number, step in enumerate(record.steps, 1) if step.text]
    if step_texts:
        writer.heading("Said beside the calls")
        for number, text in step_texts[:200]:
            writer.spans((f"step {number} ", styles.accent), (text[:4000], styles.text))
    return writer.rows


def raw_page(stored: StoredTrajectory, position: str | None, width: int, styles: Palette) -> list[Row]:
    """What the model wrote of one call, as it was recorded."""
    writer = Writer(width, styles)
    call = next((call for call in stored.record.calls() if call.position == position), None)
    if call is None:
        return writer.rows
    writer.prose("as recorded" if call.raw is None else "verbatim", styles.dim)
    if call.raw is not None:
        writer.lines(call.raw.split("\n"))
        writer.blank()
    writer.lines(text_lines(call.model_dump_json(exclude_none=True, exclude={"raw", "answer"})))
    return writer.rows


def whole_call(call: Call, answer: Answer | None) -> str:
    """Everything of a call, as it came."""
    parts = [f"name: {call.name}"]
    if call.raw is not None:
        parts += ["", "as written:", call.raw]
    if call.arguments is not None:
        parts += ["", "arguments:", "\n".join(line.text for line in json_lines(call.arguments))]
    for title, shown in (("recorded answer:", call.answer), ("replayed answer:", answer)):
        if shown is not None:
            parts += ["", title, "\n".join(answer_lines(shown))]
    return "\n".join(parts)


def whole_task(stored: StoredTrajectory) -> str:
    """Everything that was asked and said."""
    record = stored.record
    step_texts = [f"step {number}: {step.text}" for number, step in enumerate(record.steps, 1) if step.text]
    parts = ["question:", record.task.question or "", "", "final reply:", record.final_reply or "", "", *step_texts]
    return "\n".join(parts)


def _image(reference: str) -> str:
    if reference.startswith("data:"):
        head, _, body = reference.partition(",")
        return f"{head[5:].split(';')[0]}, {len(body) * 3 // 4 / 1000:.1f} kB"
    return reference
