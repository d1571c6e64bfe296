// What is made anew from the arguments has nothing of what was there.
import ExcelJS from "exceljs";

export async function report(path: string, rows: string[][]) {
  const book = new ExcelJS.Workbook();
  const sheet = book.addWorksheet("report");
  rows.forEach((row) => sheet.addRow(row));
  await book.xlsx.writeFile(path);
}
