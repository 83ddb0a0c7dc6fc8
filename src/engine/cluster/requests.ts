/** Asking other nodes: all that are there, or one. */
import type { Link } from "../transport/nats.ts";
import { type Answer, type Question, question } from "./encode.ts";
import type { Nodes, OtherNode } from "./nodes.ts";
import type { Questions } from "./pending-requests.ts";
import type { Subjects } from "./subjects.ts";

export interface AsksParts {
  readonly self: string;
  readonly link: Link;
  readonly subjects: Subjects;
  readonly nodes: Nodes;
  readonly questions: Questions;
  /** Never the same twice: answers are told apart by it. */
  readonly nextNumber: () => number;
}

export interface Answers {
  readonly answers: readonly (readonly [OtherNode, Answer])[];
  readonly isWhole: boolean;
}

export class Asks {
  constructor(private readonly parts: AsksParts) {}

  /** `done` is told what those have answered that were there, by name; at once if nobody was, or can be reached. */
  all(asked: Question, done: (answers: ReadonlyMap<string, Answer>) => void): void {
    const { self, link, subjects, nodes, questions, nextNumber } = this.parts;
    const names = link.isUp ? nodes.all.map(({ name }) => name) : [];
    const number = nextNumber();
    questions.expect(number, names, done);
    if (names.length > 0) link.publish(subjects.all, question(self, asked), subjects.answer(number));
  }

  /** Answers of the nodes that are still there. `isWhole`: they could be asked, and all of them have answered. */
  allOf(asked: Question): Promise<Answers> {
    const { link, nodes } = this.parts;
    const names = nodes.all.map(({ name }) => name);
    const { isUp } = link;
    return new Promise((resolve) =>
      this.all(asked, (answers) => {
        const there = names.flatMap((name) => nodes.known(name) ?? []);
        const found = there.flatMap((node) => {
          const answer = answers.get(node.name);
          return answer ? [[node, answer] satisfies [OtherNode, Answer]] : [];
        });
        resolve({ answers: found, isWhole: isUp && found.length === there.length });
      }),
    );
  }

  /** undefined: it has not answered. */
  one(name: string, asked: Question, done: (answer: Answer | undefined) => void): void {
    const { self, link, subjects, questions, nextNumber } = this.parts;
    const number = nextNumber();
    questions.expect(number, [name], (answers) => done(answers.get(name)));
    link.publish(subjects.node(name), question(self, asked), subjects.answer(number));
  }
}
