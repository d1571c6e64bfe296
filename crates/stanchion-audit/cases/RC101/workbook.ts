// also: RC302
import ExcelJS from "exceljs";
import * as XLSX from "xlsx";

export async function addSheet(path: string, name: string) {
  const book = new ExcelJS.Workbook();
  await book.xlsx.readFile(path);
  book.addWorksheet(name);
  await book.xlsx.writeFile(path); // expect: RC101 read=7
}

export function setTitle(path: string, title: string) {
  const book = XLSX.readFile(path);
  book.Props = { Title: title };
  XLSX.writeFile(book, path); // expect: RC101 read=13
}
