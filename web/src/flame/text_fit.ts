// As much of a name as a box holds.

export const LEAST_LETTERS = 3;

// Measures each letter once: names are many, letters few.
export class TextFit {
  private readonly widths = new Map<string, number>();

  constructor(private readonly measure: (text: string) => number) {}

  // The whole name, or its beginning and an ellipsis; empty where too little would be left.
  fit(name: string, pixels: number): string {
    let [used, kept] = [0, 0];
    const ellipsis = this.widthOf("…");
    let letters = 0;
    let end = 0; // of what still leaves room for the ellipsis
    for (const letter of name) {
      used += this.widthOf(letter);
      if (used > pixels) return kept >= LEAST_LETTERS ? `${name.slice(0, end)}…` : "";
      letters += letter.length;
      if (used + ellipsis <= pixels) {
        kept++;
        end = letters;
      }
    }
    return name;
  }

  private widthOf(letter: string): number {
    let width = this.widths.get(letter);
    if (width === undefined) {
      width = this.measure(letter);
      this.widths.set(letter, width);
    }
    return width;
  }
}
