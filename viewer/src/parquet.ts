/** Answers of an exported folder, read from Parquet by ranges: a page of rows costs its pages, not the file. */

import { decompress } from "fzstd";
import { asyncBufferFromUrl, cachedAsyncBuffer, parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import type { StoredAnswer, Table } from "./stored";

const compressors = { ZSTD: (input: Uint8Array, length: number) => decompress(input, new Uint8Array(length)) };

export async function open(url: string): Promise<Table> {
  const file = cachedAsyncBuffer(await asyncBufferFromUrl({ url }));
  const metadata = await parquetMetadataAsync(file);
  return {
    length: Number(metadata.num_rows),
    async read(from, until, columns) {
      const read = { file, metadata, compressors, rowStart: from, rowEnd: until, useOffsetIndex: true };
      const rows = await parquetReadObjects(columns ? { ...read, columns } : read);
      return rows as unknown as StoredAnswer[];
    },
  };
}
