// Answers kept for a while, so that going back and forth asks nothing twice; the least used go first.

const KEPT_MS = 60_000; // a running recorder adds to what was answered

interface Kept<Answer> {
  answer: Answer;
  at: number;
}

export class KeptAnswers<Question, Answer> {
  private readonly kept = new Map<string, Kept<Answer>>();
  private running: AbortController | null = null;

  constructor(
    private readonly ask: (question: Question, signal: AbortSignal) => Promise<Answer>,
    private readonly most: number,
    private readonly now: () => number = Date.now,
  ) {}

  /** An older question that still runs is given up: only the newest range is on the screen. */
  async get(question: Question): Promise<Answer> {
    this.running?.abort();
    const key = JSON.stringify(question);
    const known = this.kept.get(key);
    this.kept.delete(key);
    if (known && this.now() - known.at < KEPT_MS) {
      this.kept.set(key, known);
      return known.answer;
    }
    const running = (this.running = new AbortController());
    const answer = await this.ask(question, running.signal);
    this.keep(key, answer);
    return answer;
  }

  abort(): void {
    this.running?.abort();
  }

  private keep(key: string, answer: Answer): void {
    this.kept.set(key, { answer, at: this.now() });
    const oldest = this.kept.keys().next();
    if (this.kept.size > this.most && !oldest.done) this.kept.delete(oldest.value);
  }
}
