"""LangChain and LangGraph: a runnable and a node that let a draft pass only when Hushgate allows it.

``guarded(chain)`` wraps a runnable that answers a question; ``check_node`` stands after the node that drafts.
"""

from __future__ import annotations

from typing import TypedDict

from check import check
from langchain_core.runnables import Runnable, RunnableLambda
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

PERSON = "A person will answer you."


def guarded(chain: Runnable[str, str], passages: list[str] | None = None) -> Runnable[str, str]:
    """The chain, asked only when the question passes; its answer as Hushgate lets it pass."""

    def answered(question: str) -> str:
        if (asked := check(question))["verdict"] != "allow":
            return _silent(asked["verdict"])
        found = check(question, chain.invoke(question), passages)
        return str(found["text"]) if found["text"] else _silent(found["verdict"])

    return RunnableLambda(answered)


class Turn(TypedDict, total=False):
    """The state of one turn: ``verdict`` decides where the graph goes on."""

    question: str
    draft: str
    passages: list[str]
    verdict: str
    answer: str


def check_node(turn: Turn) -> Turn:
    """The node: the verdict on the draft, and the text that may be sent."""
    found = check(turn["question"], turn["draft"], turn.get("passages"))
    return {"verdict": found["verdict"], "answer": found["text"] or ""}


def checked_graph(draft: Runnable[str, str], passages: list[str]) -> CompiledStateGraph[Turn]:
    """A graph that drafts, checks, and hands over what is held."""
    graph = StateGraph(Turn)
    graph.add_node("draft", lambda turn: {"draft": draft.invoke(turn["question"]), "passages": passages})
    graph.add_node("check", check_node)
    graph.add_node("hand_over", lambda _: {"answer": PERSON})
    graph.add_edge(START, "draft")
    graph.add_edge("draft", "check")
    graph.add_conditional_edges("check", lambda turn: "hand_over" if turn["verdict"] == "hold" else END)
    graph.add_edge("hand_over", END)
    return graph.compile()


def _silent(verdict: str) -> str:
    return PERSON if verdict == "hold" else ""
