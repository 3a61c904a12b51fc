package tessera.trino;

/** Intervals as SQL writes them: {@code 1 year 2 mons -3 days -04:05:06.7}. */
final class Intervals {
  private static final long SECOND_MICROS = 1_000_000;

  private Intervals() {}

  /** Appends an interval. */
  static void write(int months, int days, long micros, StringBuilder out) {
    int start = out.length();
    boolean isAfterNegative = part(months / 12, "year", false, out, start);
    isAfterNegative = part(months % 12, "mon", isAfterNegative, out, start);
    isAfterNegative = part(days, "day", isAfterNegative, out, start);
    if (micros == 0 && out.length() > start) {
      return;
    }
    if (out.length() > start) {
      out.append(' ');
    }
    if (micros < 0) {
      out.append('-');
    } else if (isAfterNegative) {
      out.append('+');
    }
    // The smallest one has no opposite, and parts of it do.
    long seconds = Math.abs(micros / SECOND_MICROS);
    long rest = Math.abs(micros % SECOND_MICROS);
    out.append(String.format("%02d:%02d:%02d", seconds / 3600, seconds / 60 % 60, seconds % 60));
    if (rest > 0) {
      out.append(String.format(".%06d", rest).replaceFirst("0+$", ""));
    }
  }

  /** Appends a part that is not 0; true when the last one was negative. */
  private static boolean part(int count, String unit, boolean isAfterNegative, StringBuilder out, int start) {
    if (count == 0) {
      return isAfterNegative;
    }
    if (out.length() > start) {
      out.append(' ');
    }
    out.append(isAfterNegative && count > 0 ? "+" : "").append(count).append(' ').append(unit);
    out.append(count == 1 ? "" : "s");
    return count < 0;
  }
}
