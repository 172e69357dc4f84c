/** What is kept is found by its whole question, and by nothing else. */
import { expect, test } from "vitest";
import { Answers } from "../../src/scheduling/answers.ts";

const words = (...list: number[]): Int32Array => Int32Array.from(list);

test("an answer is found by its question, whatever lies behind it", () => {
  const answers = new Answers();
  const answer = words(7);
  expect(answers.find(words(1, 2, 3), 3)).toBeUndefined();
  const asked = words(1, 2, 3, 9);
  answers.keep(asked, 3, answer);
  // What was asked with is used again.
  asked.fill(0);
  expect(answers.find(words(1, 2, 3), 3)).toBe(answer);
  expect(answers.find(words(1, 2, 3, 4, 5), 3)).toBe(answer);
});

test("a question that differs in any word, or goes on, or ends before, is another one", () => {
  const answers = new Answers();
  // More questions than places: many share one, and the later of these stays.
  const questions = Array.from({ length: 2_000 }, (_, nth) => words(nth % 7, nth, nth >> 3));
  const found = (question: Int32Array): number | undefined => answers.find(question, 3)?.[0];
  let kept = 0;
  for (const [nth, question] of questions.entries()) {
    answers.keep(question, 3, words(nth));
    expect(found(question)).toBe(nth);
  }
  for (const [nth, question] of questions.entries()) {
    const answer = found(question);
    expect([nth, undefined]).toContain(answer);
    if (answer !== undefined) kept++;
    expect(answers.find(words(...question, 1), 4)).toBeUndefined();
    expect(answers.find(question, 2)).toBeUndefined();
  }
  // Each place has one.
  expect(kept).toBeGreaterThan(250);
  expect(kept).toBeLessThanOrEqual(256);
});

test("no words are a question too, and so is any number", () => {
  const answers = new Answers();
  answers.keep(words(), 0, words(1));
  answers.keep(words(-1, 2 ** 31 - 1), 2, words(2));
  expect([answers.find(words(5), 0), answers.find(words(-1, 2 ** 31 - 1), 2)]).toEqual([words(1), words(2)]);
});
